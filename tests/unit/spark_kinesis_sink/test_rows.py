"""Rows and record batches are split into the same blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from kinesis_core.errors import InvalidRecordError
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.rows import BLOCK_BYTES, BLOCK_ROWS, Block, arrow_blocks, blocks_of_rows

ALL = Columns(data=1, partition_key=0, explicit_hash_key=3, stream_name=2)
ROWS = [
    ("a", b"1", "orders", None),
    (None, b"", "audit", "7"),
    ("c", b"3", "orders", None),
]


def listed(batches: list[pa.RecordBatch], columns: Columns) -> Iterator[Block]:
    return (block.listed() for block in arrow_blocks(batches, columns))


def of_rows(rows: Iterable[Any], columns: Columns, types: list[pa.DataType]) -> Iterator[Block]:
    del types
    return blocks_of_rows(rows, columns)


def of_batches(rows: list[Any], columns: Columns, types: list[pa.DataType]) -> Iterator[Block]:
    arrays = [pa.array(list(v), t) for v, t in zip(zip(*rows, strict=True), types, strict=True)]
    batch = pa.record_batch(arrays, names=[f"column-{index}" for index in range(len(types))])
    return listed([batch.slice(0, 1), batch.slice(1)], columns)


either = pytest.mark.parametrize("split", [of_rows, of_batches])
TYPES = [pa.string(), pa.binary(), pa.string(), pa.string()]


def rows_of(found: Iterable[Block]) -> list[tuple[Any, ...]]:
    return [
        row
        for block in found
        for row in zip(
            block.partition_keys or [],
            block.data,
            block.stream_names or [],
            block.explicit_hash_keys or [],
            strict=True,
        )
    ]


@either
def test_same_rows(split: Any) -> None:
    """The blocks contain every row once and in order, with the nulls of optional columns."""
    assert rows_of(split(ROWS, ALL, TYPES)) == ROWS


@either
def test_absent_columns(split: Any) -> None:
    """A column that the frame does not have is None in the block."""
    found = list(split([(b"1",), (b"2",)], Columns(0), [pa.binary()]))
    assert [(block.partition_keys, block.explicit_hash_keys, block.stream_names) for block in found] == [
        (None, None, None)
    ] * len(found)


@either
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text(split: Any, kind: pa.DataType) -> None:
    """Text data becomes UTF-8."""
    found = list(split([("grün", "a"), ("", "b")], Columns(0, 1), [kind, kind]))
    assert [data for block in found for data in block.data] == ["grün".encode(), b""]


@either
def test_binary_keys(split: Any) -> None:
    """Binary partition keys are decoded as UTF-8."""
    found = list(split([(b"1", "ß".encode()), (b"2", None)], Columns(0, 1), [pa.binary(), pa.binary()]))
    assert [key for block in found for key in block.partition_keys or []] == ["ß", None]


@either
def test_key_that_is_not_text(split: Any) -> None:
    """A partition key that is not UTF-8 is an error that names the row."""
    rows = [(b"1", b"good"), (b"2", b"\xff"), (b"3", b"good")]
    with pytest.raises(
        InvalidRecordError, match="Column 'partitionKey' is not UTF-8 in row 1 of the task"
    ) as caught:
        list(split(rows, Columns(0, 1), [pa.binary(), pa.binary()]))
    assert caught.value.row == 1


def test_strings_of_any_bytes() -> None:
    """A string column may hold bytes that are not UTF-8, as Spark allows: they are valid data, but no valid partition key."""
    broken = pa.array([b"\xff", b"b"]).view(pa.string())
    batch = pa.record_batch([broken, pa.array(["a", "b"])], names=["data", "partitionKey"])
    [block] = listed([batch], Columns(0, 1))
    assert block.data == [b"\xff", b"b"]
    with pytest.raises(InvalidRecordError, match="'partitionKey' is not UTF-8 in row 0"):
        list(listed([batch], Columns(1, 0)))


@either
def test_null_data(split: Any) -> None:
    """A row without data is an error that names the row. It is not left out."""
    rows = [(b"1",), (b"2",), (None,), (None,)]
    with pytest.raises(
        InvalidRecordError, match=r"Column 'data' is null in 2 of \d rows, first in row 2 of the task"
    ):
        list(split(rows, Columns(0), [pa.binary()]))


@either
def test_null_stream(split: Any) -> None:
    """A row without a stream is an error if rows name their stream."""
    rows = [("a", b"1", "orders", None), ("a", b"1", None, None)]
    with pytest.raises(InvalidRecordError, match="Column 'streamName' is null in 1 of"):
        list(split(rows, ALL, TYPES))


def test_bounded() -> None:
    """A large record batch is split, so that a part of it is copied at a time."""
    payload = bytes(BLOCK_BYTES // 4)
    batch = pa.record_batch([pa.array([payload] * 10)], names=["data"])
    found = list(listed([batch], Columns(0)))
    assert [len(block.data) for block in found] == [3, 3, 3, 1]
    assert [block.first for block in found] == [0, 3, 6, 9]


def test_larger_than_a_block() -> None:
    """A row that is larger than a block becomes a block of its own."""
    batch = pa.record_batch([pa.array([bytes(BLOCK_BYTES * 2)] * 2)], names=["data"])
    assert [len(block.data) for block in listed([batch], Columns(0))] == [1, 1]


def test_many_rows() -> None:
    """A block has a fixed number of rows."""
    found = list(blocks_of_rows(((b"x",) for _ in range(BLOCK_ROWS + 1)), Columns(0)))
    assert [(block.first, len(block.data)) for block in found] == [
        (0, BLOCK_ROWS),
        (BLOCK_ROWS, 1),
    ]


def test_nothing() -> None:
    """A task without rows has no blocks."""
    assert list(blocks_of_rows([], Columns(0))) == []
    empty = pa.record_batch([pa.array([], pa.binary())], names=["data"])
    assert list(listed([empty], Columns(0))) == []


def test_by_stream() -> None:
    """The rows of each stream keep their order, and their index in the task."""
    [block] = blocks_of_rows(ROWS, ALL)
    parts = dict(block.by_stream())
    assert {name: part.data for name, part in parts.items()} == {"orders": [b"1", b"3"], "audit": [b""]}
    assert parts["orders"].partition_keys == ["a", "c"]
    assert parts["audit"].explicit_hash_keys == ["7"]
    assert [parts["orders"].row(index) for index in (0, 1)] == [0, 2]


def test_by_one_stream() -> None:
    """Rows that all name one stream are not copied."""
    [block] = blocks_of_rows([row for row in ROWS if row[2] == "orders"], ALL)
    assert list(block.by_stream()) == [("orders", block)]
    assert block.row(1) == 1
