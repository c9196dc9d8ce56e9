"""The columns, and unusual records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kinesis_emulator import Emulator
from spark_kinesis_source import all_columns, default_schema
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import StreamUnderTest

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


def test_more_than_a_thousand_shards(emulator: Emulator, load: Load) -> None:
    """A stream of 1,100 shards, more than one default page of ListShards, is read in a few partitions."""
    emulator.create_stream("wide", 1100)
    for number in range(200):
        emulator.put("wide", str(number), partition_key=f"key-{number}")
    frame = load({**_existing(emulator, "wide"), "maxPartitions": "4"})
    rows: list[Row] = frame.collect()
    assert sorted(bytes(row.data) for row in rows) == sorted(r.data for r in emulator.records("wide"))
    assert frame.rdd.getNumPartitions() == 4
