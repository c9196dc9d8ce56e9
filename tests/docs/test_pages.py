"""Every page works as a reader pastes it: commands into a terminal, programs into files, cells into Python."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml  # type: ignore[import-untyped]

from docs.blocks import Block, Use, blocks
from docs.reader import Reader, reader

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SET_UP = DOCS / "tutorial" / "set-up.md"
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md") for path in ROOT.glob(pattern)
)
OF_DEVELOPERS = {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
"""Pages at the root have commands for a clone, which start these tests. They are checked, and not run here."""
HIDDEN = (
    "AWS_",
    "SPARK_",
    "PYSPARK_",
    "PYTHON",
    "PYTEST_",
    "VIRTUAL_ENV",
    "NOX",
    "UV_",
    "KINESIS_",
    "CI",
    "TEST_",
)
"""What begins so in the environment of the tests, a reader does not have."""
ONCE = "Install"
EACH_TIME = ("A Kinesis", "In each terminal", "Start a page afresh", "Records to read")
"""Sections of the page Set up that a reader follows once, and those that give each page a fresh Kinesis."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def does(page: Path, *uses: Use) -> bool:
    return any(block.use in uses for block in blocks(page))


RUN = [
    page
    for page in PAGES
    if name(page) not in OF_DEVELOPERS and does(page, Use.CELL, Use.COMMANDS, Use.SERVICE, Use.FILE)
]


@pytest.fixture(scope="session")
def environment() -> Iterator[dict[str, str]]:
    """
    Yield a reader's environment: a home, and this machine's programs without those of the tests.

    The home is not in the folder of pytest, which each pytest closes for other users when it starts: PostgreSQL, which refuses
    to run as root, is another user.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(HIDDEN)}
    path = [folder for folder in kept["PATH"].split(os.pathsep) if ".nox" not in folder]
    found = f"{kept.get('PIP_FIND_LINKS', '')} {ROOT / '.nox' / 'wheels'}".strip()  # downloaded once
    cache = kept.get("PIP_CACHE_DIR", str(Path("~/.cache/pip").expanduser()))
    with TemporaryDirectory() as home:
        yield {
            **kept,
            "HOME": home,
            "PATH": os.pathsep.join(path),
            "PIP_FIND_LINKS": found,
            "PIP_CACHE_DIR": cache,
            "AWS_EC2_METADATA_DISABLED": "true",  # no machine of a cloud has credentials for these tests
        }


@pytest.fixture(scope="session")
def home(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return a home in which a reader has installed everything, by the commands of the page Set up.

    READER_PYTHON names the Python of an environment that is used instead.
    """
    home = Path(environment["HOME"])
    if ready := os.environ.get("READER_PYTHON"):
        (home / "kinesis-env").symlink_to(Path(ready).parents[1])
        return home
    clone = tmp_path_factory.mktemp("clone")
    (clone / "packages").symlink_to(ROOT / "packages")
    installs = [block for block in blocks(SET_UP) if block.section == ONCE or "pip install" in block.text]
    with reader(clone, environment, clone / "log") as person:
        person.follow(installs)
    return home


@pytest.fixture(scope="session")
def quick_jvms(home: Path) -> dict[str, str]:
    """
    Return variables with which Spark starts quicker than a reader's, and does the same. There are a hundred starts.

    Java finds the home by the user's id and not by HOME. In the tester's home Spark would take what Maven has downloaded there,
    often a POM without its jar, and then `spark.jars.packages` ends in an error.
    """
    program = [home / "kinesis-env" / "bin" / "python", ROOT / "tools" / "spark_classes.py"]
    variables: dict[str, str] = json.loads(subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout)
    variables["SPARK_SUBMIT_OPTS"] += f" -Duser.home={home}"
    return variables


@pytest.fixture
def person(
    home: Path, environment: dict[str, str], quick_jvms: dict[str, str], tmp_path: Path
) -> Iterator[Reader]:
    """Yield a reader in a new terminal, with a fresh Kinesis. What a page installs is undone after it."""
    shutil.rmtree(home / "kinesis-examples", ignore_errors=True)
    python = home / "kinesis-env" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip"]
    before = _installed(python)
    with reader(home, environment | quick_jvms, tmp_path / "log") as person:
        each_time = [block for block in blocks(SET_UP) if block.section in EACH_TIME]
        person.follow(block for block in each_time if "pip install" not in block.text)
        yield person
    after = _installed(python)
    if added := after.keys() - before.keys():
        subprocess.run([*pip, "uninstall", "--quiet", "--yes", *added], check=True)
    if changed := [
        f"{package}=={version}" for package, version in before.items() if after.get(package) != version
    ]:
        subprocess.run([*pip, "install", "--quiet", "--no-deps", *changed], check=True)


def _installed(python: Path) -> dict[str, str]:
    """Return the versions of what is installed."""
    program = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    versions: dict[str, str] = json.loads(
        subprocess.run([python, "-c", program], check=True, stdout=subprocess.PIPE).stdout
    )
    return versions


@pytest.mark.pasted
@pytest.mark.parametrize("page", RUN, ids=map(name, RUN))
def test_page(page: Path, person: Reader) -> None:
    """A page runs as pasted: no setting, session, variable or package that it or the page Set up does not name."""
    if page != SET_UP:
        person.follow(blocks(page))


@pytest.mark.pasted
def test_programs_of_the_readme(person: Reader) -> None:
    """The programs of the README run once Set up has been followed, and print what it shows."""
    for block in blocks(ROOT / "README.md"):
        if block.use is Use.FILE:
            person.follow([block, Block("sh", "", f"python {block.title}\n")])
        elif block.is_output:
            person.follow([block])


CHECKED = {"json", "yaml", "python", "sh"}
"""Languages in which a block that is not run can show an error all the same."""


def test_every_section_of_set_up_is_followed() -> None:
    """The tests follow each section of the page Set up, once or for each page."""
    assert {block.section for block in blocks(SET_UP)} == {ONCE, *EACH_TIME}


def test_every_block_has_a_use() -> None:
    """A reader knows of every block what to do with it: its language and its title say so."""
    for page in PAGES:
        for block in blocks(page):
            assert block.use is not Use.UNKNOWN, f"{name(page)}: {block}"
            known = block.is_file or block.title.startswith("On ") or block.title in {"", "another terminal"}
            assert known, f"{name(page)}: {block.title}"


@pytest.mark.parametrize(
    ("page", "block"),
    [
        (page, block)
        for page in PAGES
        for block in blocks(page)
        if block.use is Use.READ and block.language in CHECKED
    ],
    ids=lambda part: name(part) if isinstance(part, Path) else part.language,
)
def test_shown(page: Path, block: Block) -> None:
    """A block that is not run has no error that its language would show."""
    match block.language:
        case "json":
            json.loads(block.text)
        case "yaml":
            list(yaml.safe_load_all(block.text))
        case "python":
            compile(block.text, name(page), "exec")
        case "sh":
            subprocess.run(["bash", "-n", "-c", block.text], check=True)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if name(page) in OF_DEVELOPERS], ids=lambda page: page.name
)
def test_commands_of_developers(page: Path) -> None:
    """Each command in a page for developers is a session of the noxfile, its pytest, an installation of ours, or a tool of git."""
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE))
    for block in blocks(page):
        for line in block.text.splitlines() if block.use is Use.COMMANDS else []:
            match shlex.split(line, comments=True):
                case ["python3", "noxfile.py", "-s", session, *_]:
                    assert session.partition("(")[0] in sessions
                case [pytest_of_session, "-q", path] if pytest_of_session.startswith(".nox/"):
                    assert pytest_of_session in {f".nox/{session}/bin/pytest" for session in sessions}
                    assert (ROOT / path).exists()
                case ["python3", "noxfile.py", "--list"] | ["git", *_] | []:
                    pass
                case ["pip", "install", *requirements]:
                    ours = [requirement for requirement in requirements if requirement.startswith("./")]
                    assert ours
                    assert all((ROOT / folder / "pyproject.toml").exists() for folder in ours)
                case _:
                    pytest.fail(f"nothing here knows {line!r}")
