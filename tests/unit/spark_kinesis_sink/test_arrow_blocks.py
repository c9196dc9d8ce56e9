"""Tasks that hand Arrow arrays to a producer write and refuse the same rows as those that hand lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from attrs import define

from kinesis_core import runtime
from kinesis_core.aws import StreamRef
from kinesis_core.errors import InvalidRecordError
from kinesis_core.producing import Producer, SenderGroup
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.rows import ArrowBlock, Block, arrow_blocks
from spark_kinesis_sink.task import put_blocks
from spark_kinesis_sink.task_producers import TaskProducers
from support.fake_puts import FakePuts

ORDERS = StreamRef("orders")
ONE = SinkOptions.parse({"streamName": "orders", "region": "eu-west-1"})
BAD_TEXT = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a", b"\xff", b"c"]).buffers())
DATA = pa.array([b"1", b"2", b"3"])
KEYS = pa.array(["a", "b", "c"])


@define
class Opened:
    """Opens producers of one stream, and counts the calls that take arrays."""

    puts: FakePuts
    taken: int = 0

    def open(self, options: SinkOptions, stream: StreamRef, group: SenderGroup) -> Producer:
        del options, stream
        producer = Producer(self.puts, group=group)
        take = producer.put_arrays

        def put_arrays(*arrays: Any) -> bool:
            is_taken = take(*arrays)
            self.taken += is_taken
            return is_taken

        producer.put_arrays = put_arrays  # type: ignore[method-assign, assignment]
        return producer


def run(kind: str, arrays: dict[int, pa.Array], stream: StreamRef | None = ORDERS) -> tuple[Any, ...]:
    """Write a batch of *arrays*, by the index of their column. Returns the rows or the error, and how many calls took arrays."""
    opened = Opened(FakePuts().create(3))
    batch = pa.record_batch(list(arrays.values()), names=[str(index) for index in arrays])
    columns = Columns(*(list(arrays).index(index) if index in arrays else None for index in range(4)))  # type: ignore[arg-type]
    arrow = arrow_blocks([batch.slice(0, 1), batch.slice(1)], columns)
    blocks: Iterator[ArrowBlock | Block] = (block.listed() for block in arrow) if kind == "lists" else arrow
    try:
        with TaskProducers(ONE, opened.open, {}) as producers:
            put_blocks(blocks, producers, stream)
            producers.flush()
    except InvalidRecordError as error:
        return str(error), error.row, opened.taken
    rows = [(r.data, r.partition_key, r.explicit_hash_key) for r in opened.puts.user_records()]
    return sorted(rows, key=str), None, opened.taken


@pytest.mark.parametrize(
    "arrays",
    [
        {0: DATA, 1: KEYS},
        {0: pa.array(["é", "", "3"]), 1: KEYS.cast(pa.large_binary()), 2: pa.array([None, "7", "0"])},
        {0: BAD_TEXT, 1: KEYS},
    ],
)
def test_same_rows(arrays: dict[int, pa.Array]) -> None:
    """The rows that a stream gets are the same, and no lists are made of the arrays."""
    rows, _, taken = run("arrays", arrays)
    assert (rows, None, 0) == run("lists", arrays)
    assert taken == (2 if runtime().native else 0)
    assert len(rows) == 3


@pytest.mark.parametrize(
    "arrays",
    [
        {0: pa.array([b"1", None, b"3"]), 1: KEYS},
        {0: DATA, 1: BAD_TEXT},
        {0: DATA, 1: BAD_TEXT.view(pa.binary())},
        {0: DATA, 1: pa.array(["a", "", "c"])},
        {0: DATA, 1: pa.array(["a", "b", "c" * 257])},
        {0: DATA, 1: pa.array(["a", "", None])},
        {0: DATA, 1: KEYS, 2: pa.array(["0", "1", "01"])},
        {0: pa.array([b"1", b"2", bytes(1024 * 1024)]), 1: KEYS},
    ],
)
def test_same_errors(arrays: dict[int, pa.Array]) -> None:
    """A refused row has the same error, with the index of the row in the task."""
    message, row, _ = run("arrays", arrays)
    assert (message, row) == run("lists", arrays)[:2]
    assert row in (1, 2)


def test_rows_that_name_their_stream() -> None:
    """Rows of several streams are handed over as lists, as before."""
    arrays = {0: DATA, 1: KEYS, 3: pa.array(["orders"] * 3)}
    assert run("arrays", arrays, None) == run("lists", arrays, None)
    assert len(run("arrays", arrays, None)[0]) == 3
