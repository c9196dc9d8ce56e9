"""The columns, and unusual records."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kinesis_emulator import Emulator
from spark_kinesis_source import all_columns, default_schema
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import SECRET, StreamUnderTest

Load = Callable[..., DataFrame]
MakeStream = Callable[..., StreamUnderTest]
MakeQuery = Callable[..., Query]


@pytest.fixture
def load(spark: SparkSession) -> Load:
    def load(options: dict[str, Any], schema: Any = None) -> DataFrame:
        reader = spark.read.format("kinesis").options(**options)
        return (reader if schema is None else reader.schema(schema)).load()

    return load


@pytest.mark.tests
@both_ways
def test_default_columns(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """The default columns are data, streamName, partitionKey, sequenceNumber and approximateArrivalTimestamp, with the values put."""
    (put,) = stream.put("hello", key="greeting")
    query = make_query(stream.options()).start().wait_for_rows(1)
    (record,) = emulator.records(stream.name)
    assert record.arrived_ms is not None
    arrived = datetime.fromtimestamp(record.arrived_ms / 1000, timezone.utc)
    assert query.frame().schema == default_schema()
    (row,) = query.rows
    assert row.asDict() == {
        "data": bytearray(b"hello"),
        "streamName": stream.name,
        "partitionKey": "greeting",
        "sequenceNumber": put.sequence_number,
        "approximateArrivalTimestamp": arrived.astimezone().replace(tzinfo=None),
    }


@pytest.mark.tests
def test_every_column(stream: StreamUnderTest, load: Load) -> None:
    """A schema may name all columns. A plain record has the sub-sequence number 0 and no hash key."""
    (put,) = stream.put("hello", key="greeting")
    (row,) = load(stream.options(), all_columns()).collect()
    values = row.asDict()
    del values["approximateArrivalTimestamp"]
    assert values == {
        "data": bytearray(b"hello"),
        "streamName": stream.name,
        "stream": stream.name,
        "partitionKey": "greeting",
        "sequenceNumber": put.sequence_number,
        "subSequenceNumber": 0,
        "shardId": put.shard_id,
        "explicitHashKey": None,
        "encryptionType": None,
        "millisBehindLatest": 0,
    }


@pytest.mark.parametrize(
    "columns", [("sequenceNumber", "data"), ("shardId",), tuple(reversed(all_columns().fieldNames()))]
)
def test_subset_of_columns(stream: StreamUnderTest, load: Load, columns: tuple[str, ...]) -> None:
    """A schema may name any subset of the columns, in any order."""
    stream.put("hello")
    schema = all_columns()
    chosen = type(schema)([schema[name] for name in columns])
    frame = load(stream.options(), chosen)
    assert frame.schema == chosen
    (row,) = frame.collect()
    assert row.asDict().keys() == set(columns)


@pytest.mark.tests
def test_no_secret_in_plans(stream: StreamUnderTest, load: Load, make_query: MakeQuery) -> None:
    """Neither a plan nor a checkpoint nor the progress of a query shows the secret key."""
    stream.put("hello")
    query = make_query(stream.options()).start().wait_for_rows(1)
    files = [file.read_text(errors="replace") for file in query.checkpoint.rglob("*") if file.is_file()]
    plan = load(stream.options())._jdf.queryExecution().toString()
    assert files
    assert SECRET not in "\n".join([plan, str(query.query.lastProgress), *files])


@pytest.mark.tests
def test_unusual_records(emulator: Emulator, load: Load) -> None:
    """An empty payload, a missing partition key, a missing arrival time and a record of 10 MiB are read unchanged."""
    emulator.create_stream("orders", max_record_kib=10240)
    stream = _existing(emulator, "orders")
    large = bytes(10 * 1024 * 1024 - len("key"))
    emulator.put("orders", b"")
    emulator.put("orders", b"no key", omit=["PartitionKey"])
    emulator.put("orders", b"no time", omit=["ApproximateArrivalTimestamp"])
    emulator.put("orders", large)
    rows = load(stream).collect()
    assert [bytes(row.data) for row in rows] == [b"", b"no key", b"no time", large]
    assert [row.partitionKey for row in rows] == ["key", None, "key", "key"]
    assert [row.approximateArrivalTimestamp is None for row in rows] == [False, False, True, False]


def _existing(emulator: Emulator, name: str) -> dict[str, Any]:
    return {**StreamUnderTest(emulator.endpoint_url, "other").options(), "streamName": name}


def test_several_streams(make_stream: MakeStream, load: Load) -> None:
    """One source reads several streams. Each row has the name of its stream."""
    orders, payments = make_stream("orders", 2), make_stream("payments")
    orders.put_numbers(5, "order-")
    payments.put_numbers(5, "payment-")
    rows = load(orders.options(streamName="orders, payments")).collect()
    read = {
        name: sorted(bytes(r.data) for r in rows if r.streamName == name) for name in ("orders", "payments")
    }
    assert read == {"orders": orders.payloads, "payments": payments.payloads}


def test_stream_by_arn(emulator: Emulator, make_query: MakeQuery) -> None:
    """A stream may be named by its ARN, which includes the region. Its rows have the stream's name."""
    arn = emulator.create_stream("orders")
    emulator.put("orders", "hello")
    options = _existing(emulator, "orders")
    del options["streamName"], options["region"]
    query = make_query({**options, "streamARN": arn}).start().wait_for_rows(1)
    (row,) = query.rows
    assert (row.streamName, bytes(row.data)) == ("orders", b"hello")


def test_long_gap(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A gap of hours, for which Kinesis returns empty pages, ends no batch and no query."""
    now_s = time.time()
    emulator.settings.scan_ms = 300_000
    emulator.put(stream.name, "old", arrived_s=now_s - 6 * 3600)
    emulator.put(stream.name, "new", arrived_s=now_s - 1)
    query = make_query(stream.options()).start().wait_for_rows(2)
    assert query.payloads == [b"old", b"new"]


def test_more_than_a_thousand_shards(emulator: Emulator, load: Load) -> None:
    """A stream of 1,100 shards, more than one default page of ListShards, is read in a few partitions."""
    emulator.create_stream("wide", 1100)
    for number in range(200):
        emulator.put("wide", str(number), partition_key=f"key-{number}")
    frame = load({**_existing(emulator, "wide"), "maxPartitions": "4"})
    rows: list[Row] = frame.collect()
    assert sorted(bytes(row.data) for row in rows) == sorted(r.data for r in emulator.records("wide"))
    assert frame.rdd.getNumPartitions() == 4
