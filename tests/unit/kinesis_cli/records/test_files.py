"""Files of records: their form, and when they appear."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from kinesis_cli.ending import UsageError
from kinesis_cli.records import form_of, open_file
from support.waiting import PATIENCE_S


def test_the_name_decides_the_form() -> None:
    """The end of the name is the form, unless one is chosen. A pipe has lines of JSON."""
    assert form_of(Path("a.PARQUET"), None) == "parquet"
    assert form_of(Path("a.parquet"), "raw") == "raw"
    assert form_of(None, None) == "json"
    with pytest.raises(UsageError, match=r"a\.txt does not say the form"):
        form_of(Path("a.txt"), None)


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    """An old file stays until the new one is complete."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old")
    with open_file(path, None) as (target, _):
        target.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """If writing fails, nothing is left of the new file."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old")
    with suppress(MemoryError), open_file(path, None) as (target, _):
        target.write(b"new")
        raise MemoryError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file that a link leads to is written, with the mode that it had."""
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with open_file(link, None) as (target, _):
        target.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to(tmp_path: Path) -> None:
    """A pipe with a name, or a device, stays what it is."""
    pipe, found = tmp_path / "pipe.jsonl", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with open_file(pipe, None) as (target, _):
        target.write(b"new")
    reader.join(PATIENCE_S)
    assert found == [b"new"]
    assert pipe.is_fifo()
