"""A batch as a stream of Arrow's PyCapsule interface, which engines read."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

from kinesis_core import Batch, PlanSettings, ReadSettings, Stream
from support.aggregates import aggregate
from support.scripted_stream import ScriptedStream, scripted_stream
from support.waiting import wait_until

A = "shardId-000000000000"


def stream_of(fake: ScriptedStream, records_a_page: int = 10) -> Stream:
    settings = ReadSettings(threads=1, max_records_per_fetch=records_a_page)
    return Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), settings, fake.clock)


def orders(records: int) -> ScriptedStream:
    """Return a stream of one shard with records 0, 1, 2, ..."""
    fake = scripted_stream()
    for number in range(records):
        fake.put(A, str(number).encode())
    return fake


def batch_of(fake: ScriptedStream) -> Batch:
    return stream_of(fake).read("TRIM_HORIZON")


def test_a_batch_is_a_stream_of_arrow() -> None:
    """A library that reads the interface gets the rows and columns of `to_arrow`, as often as it asks."""
    fake = orders(25)
    fake.put(A, aggregate([("k", None, b"25"), ("l", None, b"26")]))
    batch = batch_of(fake)
    assert pa.table(batch) == pa.table(batch) == batch.to_arrow()
    assert pa.table(batch)["data"].to_pylist() == [str(number).encode() for number in range(27)]
    assert pa.table(batch_of(orders(0))) == batch.to_arrow().slice(0, 0)


def test_a_reader_has_chosen_columns() -> None:
    """`to_reader` has what `to_arrow` has for the same arguments."""
    fake = scripted_stream()
    fake.put(A, aggregate([("k", None, b"0"), ("l", None, b"1")]))
    batch = batch_of(fake)
    for arguments in ({}, {"columns": ["shardId", "data"]}, {"columns": ["data"], "deaggregate": False}):
        assert batch.to_reader(**arguments).read_all() == batch.to_arrow(**arguments)


def test_a_schema_is_known_before_anything_is_read() -> None:
    """An engine that only asks for the schema causes no call."""
    fake = orders(25)
    batch = batch_of(fake)
    calls = len(fake.log)
    assert pa.RecordBatchReader.from_stream(batch).schema == batch.to_reader().schema
    assert len(fake.log) == calls


def test_a_page_is_read_when_it_is_asked_for() -> None:
    """While an engine has one page, only those ahead of it that any reading holds have been read."""
    fake = orders(1000)
    batch = batch_of(fake)
    fake.served = 0  # without the plan's
    reader = pa.RecordBatchReader.from_stream(batch)
    reader.read_next_batch()
    assert fake.served <= 50
    reader.close()


def test_requested_types_are_cast() -> None:
    """A schema with the same columns changes their types, one record batch at a time."""
    batch = batch_of(orders(25))
    types = {"data": pa.large_binary(), "partitionKey": pa.large_string()}
    own = batch.to_reader().schema
    wanted = pa.schema([pa.field(each.name, types.get(each.name, each.type)) for each in own])
    reader = pa.RecordBatchReader.from_stream(batch, schema=wanted)
    assert reader.read_next_batch().schema == wanted
    assert reader.read_all() == batch.to_arrow().cast(wanted).slice(10)


@pytest.mark.parametrize("names", [["data"], ["other", "streamName", "partitionKey"]])
def test_other_columns_are_refused(names: list[str]) -> None:
    """The interface is no way to choose columns: to ask for others is an error, as it says."""
    wanted = pa.schema([(name, pa.string()) for name in names])
    with pytest.raises(ValueError, match="field names are not matching"):
        pa.RecordBatchReader.from_stream(batch_of(orders(1)), schema=wanted)


def test_an_error_reaches_the_engine() -> None:
    """The engine's error has the class and the message of ours. The rows before it were delivered."""
    fake = orders(25)
    batch = batch_of(fake)
    reader = pa.RecordBatchReader.from_stream(batch)
    fake.trim(A, 25)
    with pytest.raises(pa.ArrowInvalid, match=r"(?s)DataLossError.*Shard shardId-000000000000.*expired"):
        reader.read_all()


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_an_engine_may_leave(leave: str) -> None:
    """An engine that has enough rows closes the stream or drops it. Then nothing more is read, and no thread is left."""
    before = set(threading.enumerate())
    fake = orders(1000)
    batch = batch_of(fake)
    fake.served = 0  # without the plan's
    reader: Any = pa.RecordBatchReader.from_stream(batch)
    assert reader.read_next_batch().num_rows == 10
    if leave == "close":
        reader.close()
    del reader
    wait_until(lambda: set(threading.enumerate()) <= before)
    assert fake.served < 1000
