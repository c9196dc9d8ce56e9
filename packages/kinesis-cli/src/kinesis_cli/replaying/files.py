"""Reads files that `kinesis dump` has written: lines of JSON, Arrow streams and Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kinesis_cli.ending import CommandError
from kinesis_cli.file_errors import FileError
from kinesis_cli.putting import Rows, make_form, read_rows
from kinesis_cli.records import Form
from kinesis_cli.replaying.recorded import Recorded, decode_rows
from kinesis_cli.stopping import Stopping

_BATCH_RECORDS = 2000
_COLUMNS = ("data", "partitionKey", "explicitHashKey", "approximateArrivalTimestamp")


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
            make_form(null=False, whole=False, keep_empty=False),
            stopping,
        )
        return map(decode_rows, lines)
    if find_spec("pyarrow") is None:
        raise CommandError(f"A file of the form '{form}' needs pyarrow: pip install \"kinesis-cli[arrow]\"")
    return _tables(path, form)


def _tables(path: Path | None, form: Form) -> Iterator[Recorded]:
    import pyarrow as pa

    name = "the standard input" if path is None else str(path)
    number = 1
    try:
        for batch in _open(path, form):
            for start in range(0, batch.num_rows, _BATCH_RECORDS):
                part = batch.slice(start, _BATCH_RECORDS)
                yield _recorded(part, name, number)
                number += part.num_rows
    except pa.ArrowInvalid as error:
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


def _recorded(batch: Any, name: str, number: int) -> Recorded:
    import pyarrow as pa

    if "data" not in batch.schema.names:
        raise CommandError(f"{name} has no column 'data'. Its columns: {', '.join(batch.schema.names)}.")
    empty = pa.nulls(batch.num_rows)
    data, keys, hash_keys, times = (
        batch.column(column) if column in batch.schema.names else empty for column in _COLUMNS
    )
    times_ms = times.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    numbers = range(number, number + batch.num_rows)
    columns = (column.to_pylist() for column in (keys, hash_keys))
    return Recorded(
        Rows(name, numbers, data.cast(pa.binary()).to_pylist(), {}, 0, *columns), times_ms.to_pylist()
    )
