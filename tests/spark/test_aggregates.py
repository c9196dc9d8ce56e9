"""KPL aggregates: user records become rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from support.aggregates import aggregate
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import StreamUnderTest

COLUMNS = "data binary, partitionKey string, explicitHashKey string, subSequenceNumber long"
Read = Callable[..., list[Row]]
MIXED = [("a", None, b"1"), ("b", "170141183460469231731687303715884105728", b"2"), ("a", "0", b"3")]


@pytest.fixture
def read(spark: SparkSession, stream: StreamUnderTest) -> Read:
    def read(**more: Any) -> list[Row]:
        options = stream.options(**more)
        return spark.read.format("kinesis").options(**options).schema(COLUMNS).load().collect()

    return read


def test_user_records(stream: StreamUnderTest, read: Read) -> None:
    """User records have their own partition keys, and their own explicit hash keys where they have one."""
    stream.put("plain", aggregate(MIXED), key="outer")
    rows = [(row.partitionKey, row.explicitHashKey, bytes(row.data), row.subSequenceNumber) for row in read()]
    assert rows == [
        ("outer", None, b"plain", 0),
        *((key, hash_key, data, index) for index, (key, hash_key, data) in enumerate(MIXED)),
    ]


def test_switched_off(stream: StreamUnderTest, read: Read) -> None:
    """With deaggregate=false an aggregate is one row with its raw data."""
    packed = aggregate(MIXED)
    stream.put(packed)
    assert [bytes(row.data) for row in read(deaggregate="false")] == [packed]


def test_nested(stream: StreamUnderTest, read: Read) -> None:
    """A user record that is itself an aggregate is not unpacked: the producer sent it so."""
    inner = aggregate([("a", None, b"1")])
    stream.put(aggregate([("b", None, inner)]))
    assert [(row.partitionKey, bytes(row.data)) for row in read()] == [("b", inner)]


@pytest.mark.tests
@both_ways
def test_replay(stream: StreamUnderTest, make_query: Callable[..., Query]) -> None:
    """An aggregate is never split between batches, and a replayed batch has the same user records."""
    stream.put(aggregate([("a", None, str(number).encode()) for number in range(500)]))
    query = make_query(stream.options(maxRecordsPerShard="1")).start().wait_for_rows(500).stop()
    lost = query.lose_last_commit()
    query.start().process_all()
    assert [len(rows) for rows in query.runs[lost]] == [500, 500]
