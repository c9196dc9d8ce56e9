"""Reads files that `kinesis dump` has written, and puts their records at the pace at which they arrived."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kinesis_cli.ending import CommandError
from kinesis_cli.file_errors import FileError
from kinesis_cli.putting import LineRows, make_form, read_rows
from kinesis_cli.records import FileForm, LineError, arrived_ms, decode_line
from kinesis_cli.stopping import Stopping


@frozen
class Recorded:
    """Records of a file that follow each other."""

    rows: LineRows
    times_ms: Sequence[int | None]
    """When each of them arrived in the stream that it was read from."""


def decode_rows(lines: LineRows) -> Recorded:
    """Return the records on *lines*. Lines that are not records are among the refused ones."""
    refused = dict(lines.refused)
    numbers: list[int] = []
    data: list[bytes] = []
    keys: list[str | None] = []
    hash_keys: list[str | None] = []
    times_ms: list[int | None] = []
    for number, text in zip(lines.numbers, lines.data, strict=True):
        try:
            line, payload = decode_line(text)
            time_ms = arrived_ms(line)
        except LineError as error:
            refused[number] = f"is not a record: {error}"
            continue
        numbers.append(number)
        data.append(payload)
        keys.append(line.partition_key)
        hash_keys.append(line.explicit_hash_key)
        times_ms.append(time_ms)
    return Recorded(LineRows(lines.source, numbers, data, refused, lines.empty, keys, hash_keys), times_ms)


def recorded_rows(batch: Any, name: str, number: int) -> Recorded:
    """
    Return the records of *batch*, a `pyarrow.RecordBatch` of the file *name*. Its first record has *number*.

    Rows without data are among the refused ones.

    Raises:
        CommandError: It has no column `data`, or values of a column are not what it is for.
    """
    import pyarrow as pa

    if "data" not in batch.schema.names:
        raise CommandError(f"{name} has no column 'data'. Its columns: {', '.join(batch.schema.names)}.")
    cells = {
        column: _cast(batch, column, kind, name, number)
        for column, kind in (
            ("data", pa.binary()),
            ("partitionKey", pa.string()),
            ("explicitHashKey", pa.string()),
            ("approximateArrivalTimestamp", pa.timestamp("ms", "UTC")),
        )
    }
    is_there = cells["data"].is_valid()
    refused = {number + index: "has no data" for index, found in enumerate(is_there.to_pylist()) if not found}
    data, keys, hash_keys, times = (cells[column].filter(is_there) for column in cells)
    numbers = [one for one in range(number, number + batch.num_rows) if one not in refused]
    rows = LineRows(name, numbers, data.to_pylist(), refused, 0, keys.to_pylist(), hash_keys.to_pylist())
    return Recorded(rows, times.cast(pa.int64()).to_pylist())


def _cast(batch: Any, column: str, kind: Any, name: str, number: int) -> Any:
    import pyarrow as pa

    if column not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    try:
        return batch.column(column).cast(kind, safe=False)
    except pa.ArrowException as error:
        raise CommandError(
            f"{name} has values in its column '{column}', in the records {number} to {number + batch.num_rows - 1}, "
            f"that are no {kind}: {str(error).rstrip('.')}. Correct the file."
        ) from error


_BATCH_RECORDS = 2000
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A record of 10 MiB takes up to 60 MiB as JSON, if each of its characters is escaped."""


def read_recorded(path: Path | None, form: FileForm, stopping: Stopping) -> Iterator[Recorded]:
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


def _tables(path: Path | None, form: FileForm, stopping: Stopping) -> Iterator[Recorded]:
    name = "the standard input" if path is None else str(path)
    number = 1
    for batch in _batches(path, form, name, stopping):
        for start in range(0, batch.num_rows, _BATCH_RECORDS):
            part = batch.slice(start, _BATCH_RECORDS)
            yield recorded_rows(part, name, number)
            number += part.num_rows


def _batches(path: Path | None, form: FileForm, name: str, stopping: Stopping) -> Iterator[Any]:
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


def _open(path: Path | None, form: FileForm) -> Iterable[Any]:
    if form == "arrow":
        import pyarrow as pa

        stream: Iterable[Any] = pa.ipc.open_stream(sys.stdin.buffer if path is None else path.open("rb"))
        return stream
    if path is None:
        raise CommandError("Parquet is read from its end: name a file instead of the standard input.")
    import pyarrow.parquet as pq

    batches: Iterable[Any] = pq.ParquetFile(path).iter_batches(_BATCH_RECORDS)
    return batches


_SOON_S = 0.005
"""Records that are due within this time are written together."""
_LONGEST_SLEEP_S = 3600.0
"""More than some years cannot be slept at once."""


def keep_pace(
    recorded: Iterable[Recorded],
    speed: float,
    stopping: Stopping,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[LineRows]:
    """
    Yield the rows of *recorded*, each when it is due. A record without a time is due with the one before it.

    Raises:
        StoppedError: A signal has come.
    """
    first_ms, started_s = None, now_s()
    for part in recorded:
        yield part.rows.without_data()
        begin = 0
        for index, time_ms in enumerate(part.times_ms):
            if time_ms is None:
                continue
            if first_ms is None:
                first_ms, started_s = time_ms, now_s()
            due_s = started_s + (time_ms - first_ms) / 1000 / speed
            if due_s - now_s() > _SOON_S:
                yield part.rows.part(begin, index)
                begin = index
                with stopping.waiting():
                    while (wait_s := due_s - now_s()) > 0:
                        sleep(min(wait_s, _LONGEST_SLEEP_S))
        yield part.rows.part(begin, len(part.times_ms))
