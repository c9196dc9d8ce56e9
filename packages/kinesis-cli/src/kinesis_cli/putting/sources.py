"""Reads files and the standard input as lines, as soon as they are there."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.file_errors import reading
from kinesis_cli.putting.lines import MAX_LINE_BYTES, TOO_LONG, LineRows, LineSplitter
from kinesis_cli.stopping import Stopping

_BLOCK_BYTES = 1024 * 1024
STDIN = "the standard input"


@frozen
class RecordForm:
    """What a record is in a file."""

    separator: bytes | None = b"\n"
    """None: the whole file is one record."""
    keep_empty: bool = False
    max_line_bytes: int = MAX_LINE_BYTES


def make_form(*, null: bool, whole: bool, keep_empty: bool) -> RecordForm:
    """
    Return the form that the options --null, --whole and --keep-empty name.

    Raises:
        UsageError: The first two exclude each other.
    """
    if null and whole:
        raise UsageError("--null and --whole exclude each other.")
    return RecordForm(None if whole else b"\0" if null else b"\n", keep_empty)


def read_rows(files: Sequence[str], form: RecordForm, stopping: Stopping) -> Iterator[LineRows]:
    """
    Yield the lines of all *files*, of the standard input if there are none.

    Raises:
        StoppedError: A signal has come.
    """
    if not files:
        yield from _rows("", _blocks(STDIN, sys.stdin.fileno(), stopping), form)
    for name in files:
        with stopping.waiting(), reading(name):  # to open a named pipe waits for its writer
            descriptor = os.open(name, os.O_RDONLY)
        try:
            yield from _rows(name, _blocks(name, descriptor, stopping), form)
        finally:
            os.close(descriptor)


def check_files(files: Sequence[str]) -> None:
    """
    Check that all *files* can be read, before the first of them is.

    Raises:
        CommandError: One cannot.
    """
    for name in files:
        _check(name)


def size_of(files: Sequence[str]) -> int | None:
    """Return the bytes of all files; None if one of them is not a plain file, so that its end is not known."""
    if not files or not all(Path(name).is_file() for name in files):
        return None
    return sum(Path(name).stat().st_size for name in files)


def _check(name: str) -> None:
    with reading(name):
        exists = Path(name).exists()
    if not exists:
        raise CommandError(f"{name} does not exist. Nothing was written.")
    if Path(name).is_dir() or not os.access(name, os.R_OK):
        raise CommandError(f"{name} cannot be read. Name a file. Nothing was written.")


def _rows(source: str, blocks: Iterator[bytes], form: RecordForm) -> Iterator[LineRows]:
    if form.separator is None:
        yield _whole(source, blocks, form)
        return
    splitter = LineSplitter(source, form.separator, form.keep_empty, form.max_line_bytes)
    for block in blocks:
        yield splitter.feed(block)
    yield splitter.finish()


def _whole(source: str, blocks: Iterator[bytes], form: RecordForm) -> LineRows:
    pieces: list[bytes] = []
    size_bytes = 0
    for block in blocks:
        size_bytes += len(block)
        if size_bytes > MAX_LINE_BYTES:
            return LineRows(source, (), (), {0: TOO_LONG})
        pieces.append(block)
    if not size_bytes and not form.keep_empty:
        return LineRows(source, (), (), empty=1)
    return LineRows(source, (0,), (b"".join(pieces),))


def _blocks(name: str, descriptor: int, stopping: Stopping) -> Iterator[bytes]:
    """Yield what is there, at most a block, and wait where nothing is."""
    while block := _read(name, descriptor, stopping):
        pieces, size_bytes = [block], len(block)
        # A pipe gives 64 KiB at a time. Together they are cheaper to put.
        while size_bytes < _BLOCK_BYTES and _is_ready(descriptor) and (block := _read_now(name, descriptor)):
            pieces.append(block)
            size_bytes += len(block)
        yield b"".join(pieces)


def _read(name: str, descriptor: int, stopping: Stopping) -> bytes:
    with stopping.waiting():
        return _read_now(name, descriptor)


def _read_now(name: str, descriptor: int) -> bytes:
    with reading(name):
        return os.read(descriptor, _BLOCK_BYTES)


def _is_ready(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
