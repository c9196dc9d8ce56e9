"""KPL aggregates: user records become rows, and damaged aggregates stay plain records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from support.aggregates import MAGIC, UserRecord, aggregate, sealed
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


@pytest.mark.tests
@pytest.mark.parametrize(
    "data",
    [
        aggregate(MIXED)[:-1] + b"?",
        sealed(aggregate(MIXED)[4:-20]),
        MAGIC,
        MAGIC + b"not protobuf" + bytes(16),
    ],
    ids=["bad checksum", "truncated protobuf", "nothing but magic", "no protobuf"],
)
def test_damaged(stream: StreamUnderTest, read: Read, data: bytes) -> None:
    """A damaged aggregate is a plain record. Nothing is dropped."""
    stream.put(data, "next")
    assert [bytes(row.data) for row in read()] == [data, b"next"]


def test_odd_keys(stream: StreamUnderTest, read: Read) -> None:
    """
    A key of a user record may be cut inside a character, or longer than Kinesis accepts, or missing. All of its neighbours are rows.
    """
    odd: list[UserRecord] = [("é" * 200, None, b"long"), ("é".encode() * 127 + b"\xc3", None, b"cut")]
    rows: list[UserRecord] = [*odd, *((f"key-{n}", None, b"%d" % n) for n in range(498))]
    stream.put(aggregate(rows), sealed(b"\x0a\x01k\x1a\x05\x08\x01\x1a\x01x\x1a\x05\x08\x00\x1a\x01y"))
    found = [(row.partitionKey, bytes(row.data), row.subSequenceNumber) for row in read()]
    assert found[:2] == [("é" * 200, b"long", 0), ("é" * 127 + "\ufffd", b"cut", 1)]
    assert found[2:500] == [(f"key-{n}", b"%d" % n, n + 2) for n in range(498)]
    assert found[500:] == [(None, b"x", 0), ("k", b"y", 1)]


def test_nested(stream: StreamUnderTest, read: Read) -> None:
    """A user record that is itself an aggregate is not unpacked: the producer sent it so."""
    inner = aggregate([("a", None, b"1")])
    stream.put(aggregate([("b", None, inner)]))
    assert [(row.partitionKey, bytes(row.data)) for row in read()] == [("b", inner)]


def test_empty_aggregate(stream: StreamUnderTest, read: Read) -> None:
    """An aggregate without user records does not affect its neighbours."""
    stream.put("before", sealed(b""), "after")
    payloads = [bytes(row.data) for row in read()]
    assert (payloads[0], payloads[-1]) == (b"before", b"after")


@pytest.mark.tests
@both_ways
def test_replay(stream: StreamUnderTest, make_query: Callable[..., Query]) -> None:
    """An aggregate is never split between batches, and a replayed batch has the same user records."""
    stream.put(aggregate([("a", None, str(number).encode()) for number in range(500)]))
    query = make_query(stream.options(maxRecordsPerShard="1")).start().wait_for_rows(500).stop()
    lost = query.lose_last_commit()
    query.start().process_all()
    assert [len(rows) for rows in query.runs[lost]] == [500, 500]
