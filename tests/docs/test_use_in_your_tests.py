"""The code of the page Use it in your tests, in the languages that a reader of other pages does not run."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from docs.blocks import blocks
from kinesis_emulator.process import READY
from support.installs import locked, make, npm_ci, require_tools, run
from support.paths import ROOT, TESTS
from support.waiting import PATIENCE_S
from support.witness import WitnessUnavailableError, install, require

PAGE = blocks(ROOT / "docs" / "howto" / "use-in-your-tests.md")
CACHE = ROOT / ".nox" / "programs-of-pages"  # the session has the folder docs
_INSTALL_S = 600.0
CONSOLE = """\
<dependency>
  <groupId>org.junit.platform</groupId>
  <artifactId>junit-platform-console</artifactId>
  <version>6.1.3</version>
</dependency>
"""
"""What runs JUnit's tests here, without Maven."""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kinesis.tests</groupId>
  <artifactId>page</artifactId>
  <version>1</version>
  <dependencies>
{}
  </dependencies>
</project>
"""


def files(where: str) -> dict[str, str]:
    """Return the texts of the page's files for a place, such as `the JVM`, by their names."""
    found = {}
    for block in PAGE:
        place, _, name = block.title.partition(": ")
        if place == f"On {where}" and re.fullmatch(r"[\w./-]+", name):
            found[name] = block.text
    return found


JAVA, NODE = files("the JVM"), files("Node")
CONTAINER_SETUP = "container.setup.mjs"
(DEPENDENCIES,) = [block.text for block in PAGE if block.title == "On the JVM: in pom.xml"]


def environment() -> dict[str, str]:
    """Return the environment of a reader who has installed the command."""
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "NO_COLOR": "1"}


def fetch_libraries() -> Path:
    """Return the folder of the page's dependencies. Maven fetches them once per checkout."""
    pom = POM.format(DEPENDENCIES + CONSOLE)
    folder = CACHE / f"java-{hashlib.sha256(pom.encode()).hexdigest()[:12]}"

    def fetch(made: Path) -> None:
        file = made / "pom.xml"
        file.write_text(pom)
        goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={made}")
        command: list[str | Path] = ["mvn", "--batch-mode", "--quiet", "--file", file, *goal]
        run(command, "Maven could not fetch the dependencies of the page", _INSTALL_S)

    if not folder.exists():
        require_tools("The page", "mvn")
        with locked(CACHE / "java.lock"):
            make(folder, fetch)
    return folder


def write(found: dict[str, str], folder: Path) -> list[Path]:
    paths = []
    for name, text in found.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the class path of the page's Java, which javac has compiled without a warning."""
    try:
        require_tools("The page", "java", "javac")
        libraries = fetch_libraries()
    except WitnessUnavailableError as error:
        require(error)
    folder = tmp_path_factory.mktemp("java")
    classes = folder / "classes"
    command: list[str | Path] = [
        "javac",
        "-Xlint:all,-path,-processing,-classfile",
        "-Werror",
        "-d",
        classes,
        "-cp",
        f"{libraries}/*",
    ]
    done = subprocess.run([*command, *write(JAVA, folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return f"{classes}{os.pathsep}{libraries}/*"


def run_junit(class_path: str, tests: str) -> None:
    """Let JUnit run a class of the page. All its tests pass."""
    console = ("org.junit.platform.console.ConsoleLauncher", "execute", f"--select-class={tests}")
    done = _run("java", "-XX:TieredStopAtLevel=1", "-cp", class_path, *console, "--details=summary")
    assert done.returncode == 0, done.stdout + done.stderr
    count = JAVA[f"{tests}.java"].count("@Test\n")
    assert f"{count} tests successful" in done.stdout
    assert count > 0


def run_vitest(folder: Path, *further: Path) -> None:
    """Let vitest run the page's tests in a folder that has its settings. All pass. *further* are modules besides those of the page."""
    try:
        modules = npm_ci("The page", TESTS / "docs" / "node", CACHE) / "node_modules"
    except WitnessUnavailableError as error:
        require(error)
    linked = folder / "node_modules"
    linked.mkdir()
    for module in (modules / "vitest", modules / "@aws-sdk", *further):
        (linked / module.name).symlink_to(module)
    patient = [f"--{name}Timeout={PATIENCE_S * 1000:.0f}" for name in ("test", "hook", "teardown")]
    done = _run("node", str(modules / "vitest" / "vitest.mjs"), "run", *patient, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(re.findall(r"^test\(", NODE["orders.test.mjs"], re.M))
    assert re.search(rf"Tests +{count} passed", done.stdout), done.stdout
    assert count > 0


def _run(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE_S
    )


@pytest.mark.witness
def test_junit(class_path: str) -> None:
    """The page's extension of JUnit starts the emulator, and its test passes. Its code for Testcontainers compiles."""
    run_junit(class_path, "OrdersTest")


@pytest.mark.witness
def test_vitest(tmp_path: Path) -> None:
    """The page's global setup starts the emulator, and its tests in JavaScript pass."""
    write(NODE, tmp_path)
    run_vitest(tmp_path)


@pytest.mark.witness
def test_javascript_for_testcontainers(tmp_path: Path) -> None:
    """The page's global setup with Testcontainers has no error of syntax."""
    if shutil.which("node") is None:
        require(WitnessUnavailableError("The page needs node, which is not installed."))
    (path,) = write({CONTAINER_SETUP: NODE[CONTAINER_SETUP]}, tmp_path)
    done = _run("node", "--check", str(path))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def docker() -> None:
    """Skip a test, with the reason, where no Docker has the image that the page builds. DOCKER_HOST may name the API of Podman."""
    image = "kinesis-emulator:latest"
    if shutil.which("docker") is None or _run("docker", "image", "inspect", image).returncode:
        pytest.skip(f"no Docker runs here that has the image {image}")


@pytest.mark.usefixtures("docker")
@pytest.mark.witness
def test_testcontainers_in_java(class_path: str) -> None:
    """The page's test with Testcontainers for Java passes."""
    run_junit(class_path, "OrdersInAContainerTest")


@pytest.mark.usefixtures("docker")
@pytest.mark.witness
def test_testcontainers_in_javascript(tmp_path: Path) -> None:
    """The page's tests in JavaScript pass with the global setup of Testcontainers."""
    write({**NODE, "kinesis.setup.mjs": NODE[CONTAINER_SETUP]}, tmp_path)
    run_vitest(tmp_path, install("testcontainers@11.14.0") / "testcontainers")


@pytest.mark.usefixtures("docker")
@pytest.mark.witness
def test_testcontainers_in_python(tmp_path: Path) -> None:
    """The page's test with Testcontainers for Python passes, in an environment of its own."""
    ((name, text),) = files("Python").items()
    write({name: text}, tmp_path)
    python = str(tmp_path / "environment" / "bin" / "python")
    for command in (
        (sys.executable, "-m", "venv", str(tmp_path / "environment")),
        (python, "-m", "pip", "install", "--quiet", "testcontainers==4.15.0", "boto3", "pytest"),
        (python, "-I", "-m", "pytest", "-q", name),
    ):
        done = _run(*command, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def services() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the arguments of the emulator, and the variables of the tests, for each forge."""
    (github,) = (yaml.safe_load(text) for name, text in files("GitHub").items() if name.endswith(".yml"))
    (gitlab,) = (yaml.safe_load(text) for text in files("GitLab").values())
    on_github, on_gitlab = github["jobs"]["test"], gitlab["test"]
    return {
        "GitHub": (shlex.split(on_github["services"]["kinesis"]["command"]), on_github["env"]),
        "GitLab": (on_gitlab["services"][0]["command"], on_gitlab["variables"]),
    }


CALL = """
import boto3
found = boto3.client("kinesis").describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
print(found["StreamStatus"], found["OpenShardCount"])
"""


@pytest.mark.parametrize("forge", ["GitHub", "GitLab"])
def test_services(forge: str) -> None:
    """A client without settings in its code finds the stream of a service, by the variables of the page."""
    arguments, variables = services()[forge]
    assert variables["AWS_ENDPOINT_URL_KINESIS"].endswith(":4567")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "kinesis_emulator", *arguments, "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean) as child:
        assert child.stdout is not None
        try:
            url = child.stdout.readline().removeprefix(READY).strip()
            done = subprocess.run(
                [sys.executable, "-c", CALL],
                env={**clean, **variables, "AWS_ENDPOINT_URL_KINESIS": url},
                capture_output=True,
                text=True,
            )
        finally:
            child.terminate()
    assert done.stdout == "ACTIVE 4\n", done.stderr
