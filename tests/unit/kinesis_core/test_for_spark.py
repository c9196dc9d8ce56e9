"""Helpers that both Spark packages use."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from kinesis_core.errors import ServiceError
from kinesis_core.for_spark import find_python, import_other_half, plain_errors, python_with


@plain_errors()
def fail(error: Exception) -> None:
    try:
        raise KeyError("a cause deep inside")
    except KeyError as cause:
        raise error from cause


def test_causes_are_left_out() -> None:
    """Our errors have no tracebacks of their causes."""
    with pytest.raises(ServiceError) as caught:
        fail(ServiceError("Kinesis said no", "NoException", "id-1"))
    text = "".join(traceback.format_exception(caught.value))
    assert "Kinesis said no" in text
    assert "KeyError: " not in text


def test_our_frames_are_left_out() -> None:
    """The traceback of our errors ends in the wrapper, so that little stands between Spark's text and the sentence."""
    with pytest.raises(ServiceError) as caught:
        fail(ServiceError("Kinesis said no", "NoException", "id-1"))
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "__exit__"


def test_bugs_keep_their_causes() -> None:
    """An error that is not ours is a bug, and keeps its causes."""
    with pytest.raises(RuntimeError) as caught:
        fail(RuntimeError("a bug"))
    assert isinstance(caught.value.__cause__, KeyError)


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


def test_only_the_registration_uses_another_python(python_without: str) -> None:
    """The Python of the session is as before after a registration, also after one that failed."""
    context = SimpleNamespace(pythonExec=python_without, master="local[*]")
    seen = []

    @python_with(SimpleNamespace(_sc=context), PACKAGE)
    def register() -> None:
        seen.append(context.pythonExec)
        raise KeyError

    with pytest.raises(KeyError):
        register()
    assert seen == [sys.executable]
    assert context.pythonExec == python_without


def test_spark_connect() -> None:
    """A session of Spark Connect has no context: its server chooses its Python."""
    with python_with(object(), PACKAGE):
        pass
