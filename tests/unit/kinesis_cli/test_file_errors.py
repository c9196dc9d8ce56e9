"""Errors of files say which file it is, and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from kinesis_cli.file_errors import FileError, explain, reading, writing
from kinesis_cli.putting import make_form, read_rows
from kinesis_cli.stopping import Stopping


@pytest.mark.parametrize(("block", "verb"), [(reading, "read"), (writing, "written")])
def test_blocks(block: Any, verb: str) -> None:
    """An error in a block names its file."""
    with pytest.raises(FileError, match=f"^orders cannot be {verb}: Input/output error. Check its disk.$"):
        fail(block("orders"), OSError(errno.EIO, os.strerror(errno.EIO)))


def test_a_pipe_without_reader() -> None:
    """It is not an error of a file."""
    with pytest.raises(BrokenPipeError):
        fail(writing("orders"), BrokenPipeError())


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "orders"), "orders cannot be used: No such file. "),
        (OSError(errno.ENOSPC, "No space left"), "The standard output cannot be written: No space left. "),
        (OSError(errno.ECONNRESET, "Connection reset"), "[Errno 104] Connection reset"),
        (OSError("pyarrow says so"), "pyarrow says so"),
    ],
)
def test_other_errors(error: OSError, line: str) -> None:
    """Only an error that can be one of the standard output is called so."""
    assert explain(error).startswith(line)


def test_a_file_that_can_be_opened_and_not_read(tmp_path: Path) -> None:
    """Python names no file while it reads. The error does."""
    rows: Iterator[object] = read_rows(
        [str(tmp_path)], make_form(null=False, whole=False, keep_empty=False), Stopping()
    )
    with pytest.raises(FileError, match=f"^{tmp_path} cannot be read: Is a directory. Name a file.$"):
        next(rows)


def fail(block: AbstractContextManager[None], error: OSError) -> None:
    """Fail with *error* in *block*."""
    with block:
        raise error
