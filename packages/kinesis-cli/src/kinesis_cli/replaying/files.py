"""Reads files that `kinesis dump` has written: lines of JSON, Arrow streams and Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import evolve

from kinesis_cli.ending import CommandError
from kinesis_cli.file_errors import FileError
from kinesis_cli.putting import make_form, read_rows
from kinesis_cli.records import Form
from kinesis_cli.replaying.recorded import Recorded, decode_rows
from kinesis_cli.replaying.tables import recorded_rows
from kinesis_cli.stopping import Stopping

_BATCH_RECORDS = 2000
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A record of 10 MiB takes up to 60 MiB as JSON, if each of its characters is escaped."""


def read_recorded(path: Path | None, form: Form, stopping: Stopping) -> Iterator[Recorded]:
    """
    Yield the records of *path*, of the standard input if it is None.

    Raises:
        CommandError: pyarrow is not installed, or the file is not of this form.
        StoppedError: A signal has come.
    """
    if form == "json":
        lines = read_rows(
            [] if path is None else [str(path)],
            evolve(make_form(null=False, whole=False, keep_empty=False), max_line_bytes=MAX_LINE_BYTES),
            stopping,
        )
        return map(decode_rows, lines)
    if find_spec("pyarrow") is None:
        raise CommandError(f"A file of the form '{form}' needs pyarrow: pip install \"kinesis-cli[arrow]\"")
    return _tables(path, form, stopping)


def _tables(path: Path | None, form: Form, stopping: Stopping) -> Iterator[Recorded]:
    name = "the standard input" if path is None else str(path)
    number = 1
    for batch in _batches(path, form, name, stopping):
        for start in range(0, batch.num_rows, _BATCH_RECORDS):
            part = batch.slice(start, _BATCH_RECORDS)
            yield recorded_rows(part, name, number)
            number += part.num_rows


def _batches(path: Path | None, form: Form, name: str, stopping: Stopping) -> Iterator[Any]:
    import pyarrow as pa

    try:
        with stopping.waiting():
            batches = iter(_open(path, form))
        while True:
            with stopping.waiting():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
    except pa.ArrowException as error:
        raise CommandError(
            f"{name} is not of the form '{form}': {str(error).rstrip('.')}. Choose another one with --form."
        ) from error
    except OSError as error:
        raise FileError.of(error, name, "read") from error


def _open(path: Path | None, form: Form) -> Iterable[Any]:
    if form == "arrow":
        import pyarrow as pa

        stream: Iterable[Any] = pa.ipc.open_stream(sys.stdin.buffer if path is None else path.open("rb"))
        return stream
    if path is None:
        raise CommandError("Parquet is read from its end: name a file instead of the standard input.")
    import pyarrow.parquet as pq

    batches: Iterable[Any] = pq.ParquetFile(path).iter_batches(_BATCH_RECORDS)
    return batches
