"""Blocks of rows, as columns, from the Arrow record batches or rows that Spark passes to a task."""

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
"""Approximate bytes that are copied out of a record batch at a time. Spark's record batches have any size."""
BLOCK_ROWS = 1000
"""Rows of a block if Spark passes rows. They are in memory already."""

RowValues = list[Any]


@frozen
class Block:
    """Some rows of a task: a list for each column, or None for a column that the frame does not have."""

    first: int
    """Number of rows of the task before the block."""
    data: list[bytes]
    partition_keys: list[str | None] | None
    explicit_hash_keys: list[str | None] | None
    stream_names: list[str] | None
    indexes: Sequence[int] | None = None
    """The indexes of its rows in the block that it is a part of, or None for a whole block."""

    def __len__(self) -> int:
        return len(self.data)

    def row(self, index: int) -> int:
        """Return the index in the task, from 0, of the row at *index*."""
        return self.first + (index if self.indexes is None else self.indexes[index])

    def by_stream(self) -> Iterator[tuple[str, Block]]:
        """Yield each stream name, with a block of the rows that have it, in their order."""
        names = self.stream_names or []
        indexes: dict[str, list[int]] = {name: [] for name in names}
        if len(indexes) == 1:
            yield names[0], self
            return
        for index, name in enumerate(names):
            indexes[name].append(index)
        for name, chosen in indexes.items():
            yield name, self._pick(chosen)

    def _pick(self, indexes: Sequence[int]) -> Block:
        return Block(
            self.first,
            [self.data[index] for index in indexes],
            _pick_values(self.partition_keys, indexes),
            _pick_values(self.explicit_hash_keys, indexes),
            None,
            indexes,
        )


@frozen
class ArrowBlock:
    """Some rows of a task as Spark passes them: an Arrow array for each column that the frame has."""

    first: int
    """Number of rows of the task before the block."""
    data: pa.Array
    partition_keys: pa.Array | None
    explicit_hash_keys: pa.Array | None
    stream_names: pa.Array | None

    def __len__(self) -> int:
        return len(self.data)

    def listed(self) -> Block:
        """
        Return the same rows as lists.

        Raises:
            InvalidRecordError: A value is null, or a text is not UTF-8.
        """
        others = (self.partition_keys, self.explicit_hash_keys, self.stream_names)
        return _block(self.first, [_values(_raw(self.data)), *map(_values, others)])


def arrow_blocks(batches: Iterable[pa.RecordBatch], columns: Columns) -> Iterator[ArrowBlock]:
    """Yield the rows of *batches* in blocks of about `BLOCK_BYTES`, which are not copied."""
    first = 0
    for batch in batches:
        rows = max(1, BLOCK_BYTES * batch.num_rows // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            yield ArrowBlock(first, *_pick_columns(part.columns, columns))
            first += part.num_rows


def blocks_of_rows(rows: Iterable[Sequence[Any]], columns: Columns) -> Iterator[Block]:
    """Yield *rows* in blocks of `BLOCK_ROWS`."""
    first, rest = 0, iter(rows)
    while chunk := list(islice(rest, BLOCK_ROWS)):
        yield _block(first, _pick_columns(list(map(list, zip(*chunk, strict=True))), columns))
        first += len(chunk)


def _pick_columns(found: Sequence[Any], columns: Columns) -> list[Any]:
    indexes = (columns.data, columns.partition_key, columns.explicit_hash_key, columns.stream_name)
    return [None if index is None else found[index] for index in indexes]


def _values(column: pa.Array | None) -> RowValues | None:
    if column is None:
        return None
    try:
        values: RowValues = column.to_pylist()
    except UnicodeDecodeError:  # a string of Spark may hold any bytes; _decode names the row
        values = _raw(column).to_pylist()
    return values


def _raw(column: pa.Array) -> pa.Array:
    """Return a column of strings as a column of their bytes, without a copy. Other columns are returned unchanged."""
    kind = str(column.type)
    return column.cast(kind.replace("string", "binary")) if kind in ("string", "large_string") else column


def _block(first: int, values: Sequence[RowValues | None]) -> Block:
    data, partition_keys, explicit_hash_keys, stream_names = values
    assert data is not None  # noqa: S101 - find_columns refuses a frame without it
    _check_no_null(DATA, data, first, "Leave these rows out, for example with .where('data IS NOT NULL').")
    if stream_names is not None:
        _check_no_null(STREAM_NAME, stream_names, first, "Name a stream in each row.")
    return Block(
        first,
        _as_bytes(data),
        _as_text(PARTITION_KEY, partition_keys, first),
        _as_text(EXPLICIT_HASH_KEY, explicit_hash_keys, first),
        _as_text(STREAM_NAME, stream_names, first),
    )


def _check_no_null(column: str, values: RowValues, first: int, remedy: str) -> None:
    if None in values:
        found = values.index(None)
        raise InvalidRecordError(
            f"Column '{column}' is null in {values.count(None)} of {len(values)} rows, "
            f"first in row {first + found} of the task. {remedy}",
            first + found,
        )


def _kind(values: RowValues) -> type:
    """Return the type of the values that are not null: a column of Spark has one type."""
    return type(next((value for value in values if value is not None), None))


def _as_bytes(values: RowValues) -> list[bytes]:
    if _kind(values) is bytes:
        return values
    return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def _as_text(column: str, values: RowValues | None, first: int) -> RowValues | None:
    if values is None or _kind(values) is str:
        return values
    return [_decode(column, value, first + index) for index, value in enumerate(values)]


def _decode(column: str, value: bytes | str | None, row: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise InvalidRecordError(
            f"Column '{column}' is not UTF-8 in row {row} of the task; Kinesis accepts only text. "
            f"Convert it, for example with base64({column}).",
            row,
        ) from None


def _pick_values(values: RowValues | None, indexes: Sequence[int]) -> RowValues | None:
    return None if values is None else [values[index] for index in indexes]
