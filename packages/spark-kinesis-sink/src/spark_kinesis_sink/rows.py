"""Blocks of rows, column by column, from what Spark hands to a task: Arrow record batches, or rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kinesis_core.errors import InvalidRecordError
from spark_kinesis_sink.columns import DATA, EXPLICIT_HASH_KEY, PARTITION_KEY, STREAM_NAME, Columns

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 * 1024 * 1024
"""Spark's record batches can be of any size; what is copied out of one at a time is about this."""
BLOCK_ROWS = 1000
"""How many rows make a block where Spark hands over rows. They are in memory already."""

Values = list[Any]


@frozen
class Block:
    """Some rows of a task: a list for each column, None for a column that the frame does not have."""

    first: int
    """How many rows of the task come before it."""
    data: list[bytes]
    partition_keys: list[str | None] | None
    explicit_hash_keys: list[str | None] | None
    stream_names: list[str] | None
    places: Sequence[int] | None = None
    """Where its rows were in the block that it is a part of; None when it is all of it."""

    def row(self, place: int) -> int:
        """Return which row of the task, from 0, the one at *place* is."""
        return self.first + (place if self.places is None else self.places[place])

    def by_stream(self) -> Iterator[tuple[str, Block]]:
        """Yield the name of each stream that rows have, with those rows in order."""
        names = self.stream_names or []
        places: dict[str, list[int]] = {name: [] for name in names}
        if len(places) == 1:
            yield names[0], self
            return
        for place, name in enumerate(names):
            places[name].append(place)
        for name, its_places in places.items():
            yield name, self._take(its_places)

    def _take(self, places: Sequence[int]) -> Block:
        return Block(
            self.first,
            [self.data[place] for place in places],
            _take(self.partition_keys, places),
            _take(self.explicit_hash_keys, places),
            None,
            places,
        )


def blocks_of_batches(batches: Iterable[pa.RecordBatch], columns: Columns) -> Iterator[Block]:
    """Yield the rows of *batches* in blocks of about `BLOCK_BYTES`."""
    first = 0
    for batch in batches:
        rows = max(1, BLOCK_BYTES * batch.num_rows // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            data, *others = _pick(part.columns, columns)
            yield _block(first, [_values(_raw(data)), *map(_values, others)])
            first += part.num_rows


def blocks_of_rows(rows: Iterable[Sequence[Any]], columns: Columns) -> Iterator[Block]:
    """Yield *rows* in blocks of `BLOCK_ROWS`."""
    first, rest = 0, iter(rows)
    while chunk := list(islice(rest, BLOCK_ROWS)):
        yield _block(first, _pick(list(map(list, zip(*chunk, strict=True))), columns))
        first += len(chunk)


def _pick(found: Sequence[Any], columns: Columns) -> list[Any]:
    places = (columns.data, columns.partition_key, columns.explicit_hash_key, columns.stream_name)
    return [None if place is None else found[place] for place in places]


def _values(column: pa.Array | None) -> Values | None:
    if column is None:
        return None
    try:
        values: Values = column.to_pylist()
    except UnicodeDecodeError:  # a string of Spark may hold any bytes; who decodes it names the row
        values = _raw(column).to_pylist()
    return values


def _raw(column: pa.Array) -> pa.Array:
    """Return a column of strings as one of their bytes, without a copy; any other as it is."""
    kind = str(column.type)
    return column.cast(kind.replace("string", "binary")) if kind in ("string", "large_string") else column


def _block(first: int, values: Sequence[Values | None]) -> Block:
    data, partition_keys, explicit_hash_keys, stream_names = values
    assert data is not None  # noqa: S101 - no frame without it gets here
    _check_no_null(DATA, data, first, "Leave such rows out, for example with .where('data IS NOT NULL').")
    if stream_names is not None:
        _check_no_null(STREAM_NAME, stream_names, first, "Give each row the name of a stream.")
    return Block(
        first,
        _as_bytes(data),
        _as_text(PARTITION_KEY, partition_keys, first),
        _as_text(EXPLICIT_HASH_KEY, explicit_hash_keys, first),
        _as_text(STREAM_NAME, stream_names, first),
    )


def _check_no_null(column: str, values: Values, first: int, remedy: str) -> None:
    if None in values:
        found = values.index(None)
        raise InvalidRecordError(
            f"Column '{column}' is null in {values.count(None)} of {len(values)} rows, "
            f"first in row {first + found} of the task. {remedy}",
            first + found,
        )


def _kind(values: Values) -> type:
    """Return the type of all that is there: Spark's columns have one."""
    return type(next((value for value in values if value is not None), None))


def _as_bytes(values: Values) -> list[bytes]:
    if _kind(values) is bytes:
        return values
    return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def _as_text(column: str, values: Values | None, first: int) -> Values | None:
    if values is None or _kind(values) is str:
        return values
    return [_decode(column, value, first + place) for place, value in enumerate(values)]


def _decode(column: str, value: bytes | str | None, row: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise InvalidRecordError(
            f"Column '{column}' is not UTF-8 in row {row} of the task, and Kinesis takes text there. "
            f"Make text of it, for example with base64({column}).",
            row,
        ) from None


def _take(values: Values | None, places: Sequence[int]) -> Values | None:
    return None if values is None else [values[place] for place in places]
