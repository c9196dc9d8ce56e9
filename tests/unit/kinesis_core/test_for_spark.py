"""Helpers that both Spark packages use."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from textwrap import dedent

import pytest

from kinesis_core.errors import ServiceError
from kinesis_core.for_spark import import_other_half, plain_errors


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
