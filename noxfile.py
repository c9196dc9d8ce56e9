"""
The list of all checks. It needs Python, and Java 17 for everything with Spark. It installs the rest itself:

    python3 noxfile.py -s demo
    python3 noxfile.py -s unit          a minute; Python is enough
    python3 noxfile.py -s tests         what proves the promises
    python3 noxfile.py -s everything    what CI runs

`python3 noxfile.py --list` shows the other sessions. With nox installed, `nox -s tests` does the same.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
BOOTSTRAP = ROOT / ".nox" / "bootstrap"


def _stop(message: str) -> NoReturn:
    sys.stderr.write(f"\n{message}\n")
    sys.exit(2)


def _run_in_bootstrap() -> NoReturn:
    """Run this file again in a virtual environment with nox and uv, which is created on first use."""
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        _stop(
            f"{sys.executable} cannot create virtual environments: venv or ensurepip is missing. Install it, then run "
            "this again:\n  Debian, Ubuntu   sudo apt-get install python3-venv"
        )
    python = BOOTSTRAP / "bin" / "python"
    if (
        not python.exists()
        or subprocess.run([python, "-c", "import nox, uv"], capture_output=True).returncode
    ):
        sys.stderr.write("Installing nox and uv into .nox/bootstrap (once) ...\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", BOOTSTRAP], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nox>=2025.5.1", "uv"],
            check=True,
        )
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036 # an older Python gets a message instead of a syntax error
        _stop(f"This needs Python 3.10 or later; {sys.executable} is {sys.version.split()[0]}.")
    if find_spec("nox") is None or not (find_spec("uv") or shutil.which("uv")):
        _run_in_bootstrap()

import nox  # noqa: E402 # installed at this point

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "tests"]

# Spark starts many Python processes. Without this each of them would compile all its imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

PACKAGES = {
    "kinesis-credentials": (),
    "kinesis-emulator": (),
    "kinesis-core": ("kinesis-credentials",),
    "kinesis-consumer": ("kinesis-credentials", "kinesis-core"),
    "kinesis-cli": ("kinesis-credentials", "kinesis-core"),
    "spark-kinesis-source": ("kinesis-credentials", "kinesis-core"),
    "spark-kinesis-sink": ("kinesis-credentials", "kinesis-core"),
}
"""The published packages, each with the packages of ours that it needs."""
NEED_PYSPARK = {"spark-kinesis-source", "spark-kinesis-sink"}
"""Packages whose modules import PySpark. No package installs it."""
WITHOUT_SPARK = [name for name in PACKAGES if name not in NEED_PYSPARK]
FEW_EXAMPLES = {"EXAMPLES_SHARE": "0.1"}
"""Property tests try a tenth of their examples. The session `slow` tries all of them."""
ONE_PER_CORE = {"PYTEST_XDIST_AUTO_NUM_WORKERS": str(os.cpu_count() or 1)}
"""Test processes for tests that keep a core busy. Those with Spark wait most of the time."""
FOLDERS = {name: f"packages/{name.replace('kinesis-credentials', 'credentials')}" for name in PACKAGES}
NATIVE = ROOT / "packages" / "kinesis-native"
"""The optional package in Rust. It is the only one that is built by a compiler."""
OLDEST_RUST = (1, 88)
FUZZED_PARTS = ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
"""What libFuzzer wants to know of the code that runs."""
WITHOUT_NATIVE = (
    *(f"tests/unit/kinesis_core/{room}" for room in ("aggregation", "aws", "producing", "reading")),
    *(
        f"tests/property/test_{name}.py"
        for name in (
            "aggregation_round_trips",
            "fan_out_frames",
            "fan_out_histories",
            "hostile_responses",
            "producing",
        )
    ),
    "tests/spark/test_values.py",
)
"""Tests of pages, aggregates and rows. The session `native` runs them in Python alone."""
SPARKS = ("4.0", "4.1", "4.2", "4.3")
NEWEST_SPARK = SPARKS[-1]
SPARK_OF_DOCS = "4.2"
"""What the documentation installs: the newest that Delta Lake supports."""
SPARKS_WITH_CLIENT = ("4.0", "4.2")
"""The oldest and the newest Spark whose client is published as `pyspark-client`."""
SPARKS_WITH_PIPELINES = ("4.1", "4.2", "4.3")
SPARKS_ON_YARN = ("4.0", "4.3")
SPARK_OF_PYTHON = {"3.10": "4.2", "3.12": "4.1", "3.13": "4.0", "3.14": "4.3"}
"""Further interpreters, each with one Spark. Together they cover the differences between versions."""
SPARK_OF_GLUE, PYTHON_OF_GLUE = "4.1", "3.13"
MODULES_OF_GLUE = (
    "attrs==26.1.0",
    "boto3==1.42.84",
    "botocore==1.42.84",
    "jmespath==1.1.0",
    "numpy==2.4.4",
    "pandas==2.3.3",
    "pyarrow==23.0.1",
    "python-dateutil==2.9.0.post0",
    "typing_extensions==4.15.0",
    "urllib3==2.6.3",
)
"""
What AWS Glue 6.0 has of the dependencies that we and PySpark import.

Source: https://github.com/awslabs/aws-glue-libs/blob/v6.0.0/base-requirements.txt
"""
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
GENERATORS = (
    "docs.generate_options",
    "docs.generate_iam",
    "docs.generate_events",
    "docs.generate_columns",
    "docs.generate_errors",
    "docs.generate_commands",
    "docs.generate_sdks",
    "docs.generate_faithful",
)
"""They write pages of the reference, from declarations in the code and from measured results."""
RESULTS = ROOT / ".nox" / "results"
TESTS_ON_PATH = {"PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), str(ROOT)))}
"""For programs in tools/ that share code with tests."""
DIST = ROOT / "dist"
WHEELS = ROOT / ".nox" / "wheels"
CARGO = ROOT / ".nox" / "cargo"
"""What Rust's compiler has built. Only the first build compiles the libraries, in about a minute."""
JAVA = """\
Spark needs Java 17 or later; {found}. Install it, then run this again:
  Debian, Ubuntu   sudo apt-get install openjdk-17-jre-headless     (or openjdk-21-jre-headless)
  Fedora           sudo dnf install java-21-openjdk-headless
  macOS            brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"
"""


# Checks ------------------------------------------------------------------------------------------------------


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and types of all code."""
    _install(session, "test", "lint", "demo", "bench")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run(
        "mypy", *(f"{folder}/src" for folder in FOLDERS.values()), "demo", "docs", "noxfile.py", "tests/bench"
    )
    folders = [
        str(path)
        for path in sorted(Path("tests").iterdir())
        if path.name not in {"bench", "golden", "__pycache__"}
    ]
    session.run(
        "mypy", *folders, "tools", env={"MYPYPATH": "tests"}
    )  # they import support.x, while benchmarks import tests.support.x


@nox.session
def unit(session: nox.Session) -> None:
    """Run unit tests, and property tests with few examples. It needs neither Java nor Spark nor Rust."""
    _install_without_spark(session)
    folders = ("tests/unit", "tests/property", "--ignore-glob=*/spark_kinesis_*", "-m", "unit")
    _pytest(session, *(session.posargs or folders), env=ONE_PER_CORE | FEW_EXAMPLES)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests that prove the promises, on the newest Spark; arguments after -- go to pytest."""
    _require_java(session)
    _install(session, "test", "demo", "bench", native=True)
    _quick_jvms(session)
    _pytest(
        session, *(session.posargs or ["tests", "-m", "(unit or tests) and not witness"]), env=FEW_EXAMPLES
    )


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests that only the loop `everything` has, on the newest Spark, and property tests with all their examples."""
    _require_java(session)
    _install(session, "test", "demo", "bench", native=True)
    _quick_jvms(session)
    _pytest(
        session,
        *(
            session.posargs
            or [
                "tests",
                "-m",
                "everything and not pasted and not connect and not yarn and not sdks and not libraries and not engines",
            ]
        ),
    )


@nox.session(venv_backend="none")
def everything(session: nox.Session) -> None:
    """Run all checks, two at a time, as CI does: see .ci/run."""
    session.run("bash", ".ci/run", external=True)


@nox.session
@nox.parametrize(
    "python,spark",
    [
        nox.param(PYTHON_OF_GLUE if version == SPARK_OF_GLUE else None, version, id=version)
        for version in SPARKS
    ],
)
def spark(session: nox.Session, spark: str) -> None:
    """
    Run tests/spark: all of it on the newest Spark, on the others the tests that depend on the version.

    Spark 4.1 runs with the Python and the modules of AWS Glue 6.0. Without that Python it is skipped, except in CI.
    """
    _require_java(session)
    _install(
        session, "test", spark=spark, native=True, modules=MODULES_OF_GLUE if spark == SPARK_OF_GLUE else ()
    )
    _pytest_spark(session, spark)


@nox.session(python=list(SPARK_OF_PYTHON))
def pythons(session: nox.Session) -> None:
    """Run unit tests and tests/spark on the other versions of Python that are installed."""
    _require_java(session)
    spark = SPARK_OF_PYTHON[str(session.python)]
    _install(session, "test", spark=spark)
    _pytest(session, "tests/unit", "tests/property")
    _pytest_spark(session, spark)


@nox.session(reuse_venv=False)  # packages of an earlier run would hide a missing dependency
@nox.parametrize("package", [nox.param(name, id=name) for name in PACKAGES])
def alone(session: nox.Session, package: str) -> None:
    """
    Test each package alone: installed from its wheel with only its declared dependencies, imported, and used once.

    Its own tests do not depend on that; the session `tests` runs them.
    """
    ours = _wheels(session, *PACKAGES[package], package)
    session.install(*ours)
    session.run("python", "-I", "tests/packaging/imports_alone.py", package)
    if package in NEED_PYSPARK:
        session.install(*ours, *_pyspark(session))
        session.run("python", "-I", "tests/packaging/imports_alone.py", package, "pyspark")
    if package not in {"kinesis-credentials", "kinesis-emulator"}:
        session.install(*_wheels(session, "kinesis-emulator"))
    session.run("python", "-I", "tests/packaging/smoke_alone.py", package)


@nox.session
def lowest(session: nox.Session) -> None:
    """
    Run unit tests with the oldest supported release of each direct dependency.

    These show what a release can break. Property tests only repeat histories of our own code.
    """
    session.install("--resolution=lowest-direct", *_editable(), "boto3>=1.35.16")
    session.install(*_group("unit"), *_pyspark(session), *_native(session))
    # The emulator has no dependencies, and its tests need a boto3 that has all its operations.
    _pytest(session, "tests/unit", "--ignore=tests/unit/kinesis_emulator")


@nox.session
def native(session: nox.Session) -> None:
    """Check the package in Rust: style, warnings, its own tests, and the tests of what it does with it turned off."""
    if not _has_rust():
        session.skip(
            f"There is no Rust {'.'.join(map(str, OLDEST_RUST))} or later: https://www.rust-lang.org/tools/install"
        )
    session.env["CARGO_TARGET_DIR"] = str(CARGO)
    with session.chdir(NATIVE):
        session.run("cargo", "fmt", "--check", external=True)
        session.run(
            "cargo", "clippy", "--quiet", "--locked", "--all-targets", "--", "-Dwarnings", external=True
        )
        session.run("cargo", "test", "--quiet", "--locked", external=True)
    _install(session, "test", native=True)
    _pytest(session, *WITHOUT_NATIVE, env={"KINESIS_NATIVE": "0"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run the package in Rust with input that its coverage chooses, for 60 s a target or `-- SECONDS`. Not part of CI."""
    instrumented = (
        *("-Cpasses=sancov-module", "-Ccodegen-units=1", "-Cdebug-assertions", "--cfg=fuzzing"),
        *(f"-Cllvm-args=-sanitizer-coverage-{part}" for part in FUZZED_PARTS),
    )
    session.env.update(RUSTFLAGS=" ".join(instrumented), CARGO_TARGET_DIR=str(CARGO / "fuzz"))
    seconds = session.posargs[0] if session.posargs else "60"
    kept = Path(session.create_tmp()).resolve()
    with session.chdir(NATIVE / "fuzz"):
        # With a target of its own, RUSTFLAGS do not apply to what runs while it is built.
        session.run(
            "cargo", "build", "--quiet", "--release", "--locked", f"--target={_rust_host()}", external=True
        )
        for path in sorted(Path("targets").glob("*.rs")):
            found = kept / path.stem
            found.mkdir(exist_ok=True)
            program = CARGO / "fuzz" / _rust_host() / "release" / path.stem
            limits = (f"-max_total_time={seconds}", "-rss_limit_mb=1500", "-max_len=20000", "-verbosity=0")
            kept_input = f"-artifact_prefix={kept}/{path.stem}-"  # where an input that fails goes
            session.run(str(program), "-print_final_stats=1", *limits, kept_input, str(found), external=True)


@nox.session
def sdks(session: nox.Session) -> None:
    """Let the SDKs of AWS in Java, JavaScript, Go, Rust and Python make all calls to the local Kinesis."""
    _install_without_spark(session, f"{FOLDERS['kinesis-emulator']}[tls]")
    _pytest(session, *(session.posargs or ["tests/sdks", "--dist=load"]))  # one file, whose tests mostly wait


@nox.session
def libraries(session: nox.Session) -> None:
    """Let libraries that others wrote read the local Kinesis over reshards and kills, for minutes. It needs Maven and node."""
    _require_java(session)
    _install_without_spark(session, f"{FOLDERS['kinesis-emulator']}[tls]")
    chosen = ("tests/witnesses", "tests/kcl/test_defaults.py", "-m", "libraries")
    _pytest(session, *(session.posargs or [*chosen, "--dist=load"]))  # they mostly wait


@nox.session
def engines(session: nox.Session) -> None:
    """Let Polars and dlt read the local Kinesis."""
    _install_without_spark(session, *_group("engines"))
    _pytest(session, *(session.posargs or ["tests/engines"]))


@nox.session
def ray(session: nox.Session) -> None:
    """Let Ray read the local Kinesis, by the program of the page about engines. It takes a minute, and is not part of CI."""
    _install_without_spark(session, "ray[data]>=2.60")
    _pytest(session, *(session.posargs or ["tests/engines/test_ray.py"]))


@nox.session
@nox.parametrize("spark", [nox.param(version, id=version) for version in SPARKS_WITH_CLIENT])
def connect(session: nox.Session, spark: str) -> None:
    """Test Spark Connect: a server with our packages, and a client in an environment that has only `pyspark-client`."""
    _require_java(session)
    _install(session, "test", spark=spark)
    session.install(*_pyspark(session, spark), f"pyspark[connect]~={spark}.0")
    client = Path(session.create_tmp(), "client").resolve()
    python = str(client / "bin" / "python")
    session.run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(client), external=True)
    only_this = (f"pyspark-client~={spark}.0", "pandas<3")
    session.run("uv", "pip", "install", "--quiet", f"--python={python}", *only_this, external=True)
    session.env["CONNECT_CLIENT"] = python
    _quick_jvms(session)
    _pytest(session, *(session.posargs or ["tests/connect"]))


@nox.session
@nox.parametrize("spark", [nox.param(version, id=version) for version in SPARKS_WITH_PIPELINES])
def pipelines(session: nox.Session, spark: str) -> None:
    """Test Declarative Pipelines: the command `spark-pipelines` with our source and sink."""
    _require_java(session)
    _install(session, "test", spark=spark)
    session.install(*_pyspark(session, spark), f"pyspark[pipelines]~={spark}.0")
    _quick_jvms(session)
    _pytest(session, *(session.posargs or ["tests/pipelines"]))


@nox.session
@nox.parametrize("spark", [nox.param(version, id=version) for version in SPARKS_ON_YARN])
def yarn(session: nox.Session, spark: str) -> None:
    """Test YARN: a packed environment on a cluster of YARN and HDFS, by the commands of the page Deploy. It needs Maven."""
    _require_java(session)
    _install(session, "test", spark=spark)
    python = Path(session.create_tmp(), "reader").resolve() / "bin" / "python"
    session.run("uv", "venv", "--quiet", "--clear", "--seed", str(python.parents[1]), external=True)
    ours = _wheels(
        session, *PACKAGES["spark-kinesis-source"], *sorted(NEED_PYSPARK)
    )  # not in place: it is packed
    pip = ("uv", "pip", "install", "--quiet", f"--python={python}")
    session.run(*pip, *ours, *_pyspark(session, spark), "venv-pack", external=True)
    session.env["READER_PYTHON"] = str(python)
    _pytest(session, *(session.posargs or ["tests/yarn"]))


@nox.session
def audit(session: nox.Session) -> None:
    """List known vulnerabilities of all dependencies, as the Python Package Index has them. Not part of CI."""
    extras = {"kinesis-core": "arrow,cbor,http2", "kinesis-emulator": "http2,tls"}
    folders = FOLDERS | {name: f"{FOLDERS[name]}[{those}]" for name, those in extras.items()}
    session.install(*(f"--editable={folder}" for folder in folders.values()))
    installed = Path(session.create_tmp(), "installed.txt")
    with installed.open("w") as file:
        session.run("uv", "pip", "freeze", "--exclude-editable", external=True, stdout=file, stderr=None)
    exactly_these = ("--no-deps", "--disable-pip", f"--requirement={installed}")
    # Without --strict it skips packages that an index, such as a mirror, has no data for, and reports success.
    session.run("uv", "tool", "run", "pip-audit", "--strict", *exactly_these, external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Run every page of the documentation as a reader pastes it. The session `tests` has the other tests of the docs."""
    _require_java(session)
    _install(session, "test", "demo")
    _pyspark(session, SPARK_OF_DOCS)  # the pages install it by themselves, and need not download it again
    _pytest(session, *(session.posargs or ["tests/docs/test_pages.py", "-m", "pasted"]))


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation as a site in .nox/html, and check its links and its search; `-- serve` shows it on 127.0.0.1 instead."""
    session.install(*_group("site"))
    zensical = ("python", "-m", "zensical")  # -m finds docs.repository_links
    if "serve" in session.posargs:
        session.run(*zensical, *session.posargs)
    else:
        session.run(*zensical, "build", "--strict", "--clean")
        for step in ("finish_site", "check_site", "check_search"):
            session.run("python", "-m", f"docs.{step}", ".nox/html")


@nox.session
def generate(session: nox.Session) -> None:
    """Write the pages that are generated from declarations in the code, after a change of these, and the emulator's model of requests."""
    _install(session, "test")
    for generator in GENERATORS:
        session.run("python", "-m", generator)
    session.run("python", "-m", "tools.aws.page", env=TESTS_ON_PATH)
    session.run("python", "-m", "tools.emulator_model")


# Release -----------------------------------------------------------------------------------------------------


@nox.session
def dist(session: nox.Session) -> None:
    """Build the last commit's packages twice into equal files in dist/, check them, and follow the tutorial with them."""
    _require_java(session)
    _install(session, "test", "dist", spark=SPARK_OF_DOCS)
    session.run("python", "-m", "tools.build_dist", str(DIST))
    session.run("twine", "check", "--strict", *map(str, DIST.iterdir()))
    # Outside of this folder: a reader's pytest would find its pyproject.toml.
    with tempfile.TemporaryDirectory() as reader:
        python = str(_install_from_dist(session, Path(reader)))
        _pytest(session, "tests/docs/test_pages.py", "-n0", "-k", "tutorial", env={"READER_PYTHON": python})


def _install_from_dist(session: nox.Session, folder: Path) -> Path:
    """Return the Python of a new environment: our packages from dist/ alone, and what they need from the index."""
    python = folder / "bin" / "python"
    session.run("uv", "venv", "--quiet", "--seed", str(folder), external=True)
    pip = ("uv", "pip", "install", "--quiet", f"--python={python}")
    session.run(*pip, "--no-index", "--no-deps", f"--find-links={DIST}", *PACKAGES, external=True)
    session.run(
        *pip, *PACKAGES, "kinesis-core[arrow]", "pytest", *_pyspark(session, SPARK_OF_DOCS), external=True
    )
    session.run("uv", "pip", "check", f"--python={python}", external=True)
    return python


# Demo and measurements ---------------------------------------------------------------------------------------


@nox.session
def demo(session: nox.Session) -> None:
    """Run a stream, a producer and two Spark queries here, and prove that every record was counted once."""
    _require_java(session)
    _install(session, "demo")
    session.run("python", "-m", "demo", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run all benchmarks, or those named after --, and write their sections of docs/benchmarks.md and plots."""
    _require_java(session)
    _install(session, "test", "bench", "bench-engines", native=True)
    session.run("python", "-m", "docs.generate_benchmarks", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run a query at constant load for half an hour, or `-- --minutes N`, and write its section of docs/reliability.md."""
    _require_java(session)
    _install(session, "test")
    session.run(
        *("python", "-m", "tools.soak", "--restarts", "50", "--batches", "1000", "--minutes", "30"),
        *("--page", "docs/reliability.md", *session.posargs),
        env=TESTS_ON_PATH,
    )


@nox.session
def chaos(session: nox.Session) -> None:
    """Kill parts of a Spark cluster and of a Kinesis a hundred times each, and write its section of docs/reliability.md."""
    _require_java(session)
    _install(session, "test")
    session.run("python", "-m", "tools.chaos", *session.posargs, env=TESTS_ON_PATH)


@nox.session
def conformance(session: nox.Session) -> None:
    """Measure the emulator and other servers by the conformance suite, or `-- moto` alone, and write the page of the results."""
    _install(session, "test")
    session.run("python", "-m", "tools.conformance.servers", *session.posargs, env=TESTS_ON_PATH)
    session.run("python", "-m", "docs.generate_faithful")


@nox.session
def aws(session: nox.Session) -> None:
    """Run what only AWS can answer, for about a dollar. It asks first; `-- rehearse` does it here, `-- clean` deletes what is left."""
    _require_java(session)
    _install(session, "test")
    session.run("python", "-m", "tools.aws", *session.posargs, env=TESTS_ON_PATH)


# Helpers -----------------------------------------------------------------------------------------------------


def _group(*names: str) -> list[str]:
    return list(nox.project.dependency_groups(PYPROJECT, *names))


def _editable(*names: str) -> list[str]:
    return [f"--editable={FOLDERS[name]}" for name in names or FOLDERS]


def _wheels(session: nox.Session, *packages: str) -> list[str]:
    """Build wheels of our packages, and return their paths."""
    built = Path(session.create_tmp()) / "wheels"
    found = []
    for package in packages:
        folder = built / package
        session.run(
            "uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), FOLDERS[package], external=True
        )
        found += [str(wheel) for wheel in folder.glob("*.whl")]
    return found


def _install(
    session: nox.Session,
    *groups: str,
    spark: str | None = None,
    native: bool = False,
    modules: tuple[str, ...] = (),
) -> None:
    """
    Install our packages from this folder, the groups of pyproject.toml, a Spark, by default the newest, and *modules*.

    With *native* the package in Rust as well, where it can be built.
    """
    built = _native(session) if native else []
    session.install(*_pyspark(session, spark), *_editable(), *_group(*groups), *modules, *built)


def _install_without_spark(session: nox.Session, *modules: str) -> None:
    """Install our packages that need no Spark, what their tests need, and *modules*."""
    core = f"{FOLDERS['kinesis-core']}[arrow]"
    session.install(*_editable(*WITHOUT_SPARK), core, *_group("unit"), *modules)


def _native(session: nox.Session) -> list[str]:
    """Build the package in Rust. Return what to install: nothing where there is no compiler for it."""
    if not _has_rust():
        session.log(f"Without kinesis-native: there is no Rust {'.'.join(map(str, OLDEST_RUST))} or later.")
        return []
    session.log("Building kinesis-native (a minute, the first time) ...")
    folder = CARGO / "wheels" / re.sub(r"[^\w.]+", "-", session.name)
    shutil.rmtree(folder, ignore_errors=True)
    wheel = ("uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(NATIVE))
    with _locked(CARGO / "build.lock"):  # maturin moves the library, which another build is about to pack
        session.run(*wheel, external=True, env={"CARGO_TARGET_DIR": str(CARGO)}, silent=True)
    return ["--reinstall-package=kinesis-native", *map(str, folder.glob("*.whl"))]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of this file. Sessions may run side by side, and another one waits for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _rust_host() -> str:
    """Return what Rust calls this system."""
    response = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"host: (\S+)", response)[0])


def _has_rust() -> bool:
    """Return whether there is a Rust that can build our package."""
    try:
        response = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False
    version = re.search(r"cargo (\d+)\.(\d+)", response)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST_RUST


def _pyspark(session: nox.Session, version: str | None = None) -> list[str]:
    """
    Return what to install for the newest patch of *version*, by default of the newest version for this Python.

    PySpark is published as source only, and with some indexes uv does not cache the wheel. So it is built here once.
    A session that runs beside this one waits, and does not install a part of the file.
    """
    version = version or (NEWEST_SPARK if sys.version_info >= (3, 11) else "4.2")
    with _locked(WHEELS / f"pyspark-{version}.lock"):
        if not list(WHEELS.glob(f"pyspark-{version}.*.whl")):
            session.log(f"Fetching PySpark {version} (400 MB, once) ...")
            wheel = ("pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={WHEELS}", f"pyspark~={version}.0")
            session.run("uv", "tool", "run", *wheel, external=True)
    return [f"--find-links={WHEELS}", f"pyspark[sql]~={version}.0", *_group("spark")]


def _pytest(session: nox.Session, *arguments: str, env: dict[str, str] | None = None) -> None:
    """
    Run pytest, and write its results to the folder that .ci/run reads.

    Test files run in parallel; with `-n0` among the arguments one after the other.
    """
    session.run("python", "tools/unpacked_spark.py")
    name = re.sub(r"[^\w.]+", "-", f"{session.name} {arguments[0]}")
    side_by_side = ("--numprocesses=auto", "--dist=loadfile", "--no-loadscope-reorder")
    session.run("pytest", f"--junit-xml={RESULTS / name}.xml", *side_by_side, *arguments, env=env)


def _quick_jvms(session: nox.Session) -> None:
    """Let the JVMs that the tests of this session start share their classes; see `tools/spark_classes.py`."""
    variables = session.run("python", "tools/spark_classes.py", silent=True, stderr=None)
    session.env.update(json.loads(str(variables)))


def _pytest_spark(session: nox.Session, spark: str) -> None:
    chosen = [] if spark == NEWEST_SPARK else ["-m", "all_sparks and not witness"]
    _quick_jvms(session)
    _pytest(session, *(session.posargs or ["tests/spark"]), *chosen)


def _require_java(session: nox.Session) -> None:
    """Stop with instructions when there is no suitable Java; Spark's own error is hard to read."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        response = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        response = ""
    version = re.search(r'version "(?:1\.)?(\d+)', response)
    if version is None:
        session.error(JAVA.format(found=f"JAVA_HOME={home} has no Java" if home else "no Java was found"))
    if int(version[1]) < 17:
        session.error(JAVA.format(found=f"{java} is version {version[1]}"))


if __name__ == "__main__":
    sys.argv[1:1] = ["--noxfile", __file__]
    nox.main()
