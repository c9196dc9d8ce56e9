"""Helpers that both Spark packages use."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from kinesis_core.errors import ServiceError
from kinesis_core.for_spark import find_python, import_other_half, plain_errors, register_with
from kinesis_credentials import Advice


@plain_errors()
def fail(error: Exception) -> None:
    try:
        raise KeyError("a cause deep inside")
    except KeyError as cause:
        raise error from cause


def test_causes_and_our_frames_are_left_out() -> None:
    """Our errors have no tracebacks of their causes. Theirs end in the wrapper, so that little stands before the sentence."""
    with pytest.raises(ServiceError) as caught:
        fail(ServiceError("Kinesis said no", "NoException", "id-1"))
    text = "".join(traceback.format_exception(caught.value))
    assert "Kinesis said no" in text
    assert "KeyError: " not in text
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "__exit__"


def test_errors_name_options() -> None:
    """An error leaves Spark's front door in its words."""
    with pytest.raises(ServiceError) as caught:
        fail(ServiceError("Kinesis said no.", advice=Advice.CHECK_NETWORK, stream="orders"))
    assert (
        str(caught.value) == "Kinesis said no. Check endpointUrl, region, network and proxy. [stream=orders]"
    )


def test_bugs_keep_their_causes() -> None:
    """An error that is not ours is a bug, and keeps its causes."""
    with pytest.raises(RuntimeError) as caught:
        fail(RuntimeError("a bug"))
    assert isinstance(caught.value.__cause__, KeyError)


LIMITED = """
import os, resource
from kinesis_core.errors import PutError, ProcessLimitError
from kinesis_core.for_spark import plain_errors
from kinesis_core.producing.sender import internal_error

{before}
errors = {{"read": MemoryError(), "write": internal_error("orders", MemoryError(), 3)}}
try:
    with plain_errors():
        raise errors["{what}"]
except Exception as error:
    print(type(error).__name__, str(error))
"""
SET = "resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40)); "


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce RLIMIT_AS")
@pytest.mark.parametrize(
    ("what", "before", "begins", "ends"),
    [
        (
            "read",
            SET + "os.environ['PYSPARK_EXECUTOR_MEMORY_MB'] = '1048576'",
            "ProcessLimitError This process is out of memory. Its address space is limited to 1048576 MiB (RLIMIT_AS)",
            "In Spark, that is spark.executor.pyspark.memory, which is divided by the cores of the executor.",
        ),
        (
            "read",
            SET + "os.environ['PYSPARK_PLANNER_MEMORY_MB'] = '1048576'",
            "ProcessLimitError This process is out of memory.",
            "In Spark, that is spark.sql.planner.pythonExecution.memory.",
        ),
        ("read", SET, "ProcessLimitError This process is out of memory.", "Raise the limit."),
        ("read", "", "MemoryError", ""),
        (
            "write",
            SET + "os.environ['PYSPARK_EXECUTOR_MEMORY_MB'] = '1048576'",
            "ProcessLimitError Writing to stream orders stopped: this process is out of memory. Records since the last flush",
            "In Spark, that is spark.executor.pyspark.memory, which is divided by the cores of the executor.",
        ),
        (
            "write",
            "",
            "PutError Writing to stream orders stopped: this process is out of memory.",
            "[stream=orders]",
        ),
    ],
)
def test_lack_of_memory(what: str, before: str, begins: str, ends: str) -> None:
    """The error names the limit of the process, and the setting of Spark that sets it. Without a limit it stays as it is."""
    script = LIMITED.format(what=what, before=before)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith(begins), ran.stderr
    assert ran.stdout.rstrip().endswith(ends), ran.stdout


def test_a_half_that_is_not_installed_is_named() -> None:
    """The error says what to install, and for which purpose."""
    with pytest.raises(ImportError) as caught:
        import_other_half("the_other_half", "Reading from Kinesis")
    assert str(caught.value) == (
        "Reading from Kinesis needs the package the-other-half: pip install the-other-half"
    )
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import absent_dependency", "No module named 'absent_dependency'"),
        ("from attrs import absent_name", "cannot import name 'absent_name' from 'attrs'"),
        ("import another_half.absent_part", "No module named 'another_half.absent_part'"),
    ],
)
def test_a_half_that_is_broken_shows_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    """An installed package that cannot be imported raises its own error, and is not reported as missing."""
    (tmp_path / "another_half").mkdir()
    (tmp_path / "another_half" / "__init__.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=message):
        import_other_half("another_half", "Reading from Kinesis")


def test_the_heap_is_frozen_in_the_first_two_tasks() -> None:
    """Later tasks do not freeze it: objects that tasks create may become garbage, and must be collected."""
    script = dedent(
        """
        import gc
        from kinesis_core.for_spark import freeze_heap

        counts, kept = [], []
        for _ in range(4):
            freeze_heap()
            counts.append(gc.get_freeze_count())
            kept += [[] for _ in range(100)]
        assert 0 < counts[0] < counts[1] == counts[2] == counts[3], counts
        """
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


PACKAGE = "package_of_the_venv"


def program(path: Path, line: str) -> str:
    """Write a program of one line for the shell, and return its path."""
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def python_without(tmp_path: Path) -> str:
    """A Python that can import nothing."""
    return program(tmp_path / "python3", "exit 1")


@pytest.fixture
def python_with_it(tmp_path: Path) -> str:
    """Another Python that can import everything."""
    return program(tmp_path / "python4", "exit 0")


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2,3]", "spark://host:7077", "yarn", "k8s://host"]
)
def test_the_configured_python_stays(python_with_it: str, master: str) -> None:
    """Spark's Python stays, wherever Spark runs, if it has the package or if it is this one."""
    assert find_python(python_with_it, PACKAGE, master) == python_with_it
    assert find_python(sys.executable, PACKAGE, master) == sys.executable


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2,3]"])
def test_another_python_on_this_machine(python_without: str, master: str) -> None:
    """Where Spark runs on this machine only, this Python replaces one that lacks the package or does not exist."""
    assert find_python(python_without, PACKAGE, master) == sys.executable
    assert find_python("no-such-python", PACKAGE, master) == sys.executable


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[1,1,1024]", "yarn", "k8s://host"])
def test_another_python_on_a_cluster(python_without: str, master: str) -> None:
    """On a cluster this Python may not exist. A warning names both, and the variable that the user sets."""
    with pytest.warns(RuntimeWarning) as caught:
        assert find_python(python_without, PACKAGE, master) == python_without
    for expected in (python_without, sys.executable, PACKAGE, "export PYSPARK_PYTHON="):
        assert expected in str(caught[0].message)


def test_other_names_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program under another name in the same folder is this Python. Nobody has to ask it."""
    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(folder))
    for name in ("python", "python3"):
        assert find_python(name, PACKAGE, "yarn") == name


def test_a_package_of_the_current_folder_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's workers do not import from the folder in which the program runs."""
    (tmp_path / f"{PACKAGE}.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # an empty part of it would be this folder
    other = program(tmp_path / "other-python", f'exec {sys.executable} "$@"')
    assert find_python(other, PACKAGE, "local[*]") == sys.executable
    assert find_python(other, "json", "local[*]") == other


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_a_python_is_asked_under_any_setting(
    safe_path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python can leave out the current folder by itself. It is asked for the package all the same."""
    monkeypatch.setenv("PYTHONSAFEPATH", safe_path)
    other = program(tmp_path / "other-python", f'exec {sys.executable} "$@"')
    assert find_python(other, "json", "local[*]") == other
    assert find_python(other, PACKAGE, "local[*]") == sys.executable


@pytest.mark.parametrize("executable", ["", None])
def test_a_python_without_an_executable(
    executable: str | None, python_without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python inside another program cannot replace that of Spark."""
    monkeypatch.setattr(sys, "executable", executable)
    assert find_python(python_without, PACKAGE, "local[*]") == python_without


class Registry:
    """Spark's registry of data sources, in a session on *master*."""

    def __init__(self, python: str, master: str, errors: Sequence[Exception | None] = ()) -> None:
        self._sc = SimpleNamespace(pythonExec=python, master=master)
        self._errors = iter(errors)
        self.dataSource = self
        self.seen: list[tuple[type, str]] = []

    def register(self, source: type) -> None:
        self.seen.append((source, self._sc.pythonExec))
        if error := next(self._errors, None):
            raise error


class RefusedError(Exception):
    """An error of Spark with a condition."""

    def __init__(self, condition: str) -> None:
        self.getCondition = lambda: condition


def test_only_the_registration_uses_another_python(python_without: str) -> None:
    """The Python of the session is as before after a registration, also after one that failed."""
    for errors in ((), (KeyError(),)):
        spark = Registry(python_without, "local[*]", errors)
        with pytest.raises(KeyError) if errors else nullcontext():
            register_with(spark, PACKAGE, int, str)
        assert spark.seen[0] == (int, sys.executable)
        assert spark._sc.pythonExec == python_without


def test_a_name_that_spark_has_found(python_with_it: str) -> None:
    """Spark 4.0 refuses to register a name again. Another refusal is an error."""
    spark = Registry(python_with_it, "yarn", [None, RefusedError("DATA_SOURCE_ALREADY_EXISTS")])
    register_with(spark, PACKAGE, int, str)
    assert [source for source, _ in spark.seen] == [int, str]
    with pytest.raises(RefusedError):
        register_with(Registry(python_with_it, "yarn", [RefusedError("OTHER")]), PACKAGE, int)


def test_the_warning_names_the_users_line(python_without: str) -> None:
    """The warning is reported where the user calls `register`, which calls this."""

    def register(spark: Registry) -> None:
        register_with(spark, PACKAGE, int)

    with pytest.warns(RuntimeWarning) as caught:
        register(Registry(python_without, "yarn"))
    assert caught[0].filename == __file__
    assert "register(Registry" in Path(__file__).read_text().splitlines()[caught[0].lineno - 1]
