"""A query starts where a KCL application stopped, as its table in DynamoDB says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_core.errors import OptionError
from kinesis_emulator import Emulator
from support.aggregates import aggregate
from support.halves import batch_reader, payloads, plan, streaming
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.spark_harness import Query
from support.streams import StreamUnderTest


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        running.create_table(leaseKey="HASH")
        yield running


@pytest.fixture
def numbers(emulator: Emulator, stream: StreamUnderTest) -> list[str]:
    """Put three aggregates of three user records into the shard. Return their sequence numbers."""
    return [
        str(
            emulator.put(
                stream.name, aggregate([("key", None, f"{n}/{i}".encode()) for i in range(3)])
            ).sequence_number
        )
        for n in range(3)
    ]


def shard_of(stream: StreamUnderTest) -> str:
    [shard] = stream.open_shards()
    return str(shard["ShardId"])


def options(stream: StreamUnderTest, database: DynamoDb, **more: Any) -> dict[str, Any]:
    start = json.dumps({"kclApplication": database.table, **more.pop("by_hand", {})})
    return stream.options(startingPosition=start, dynamodbEndpointUrl=database.endpoint_url, **more)


@pytest.mark.all_sparks
def test_inside_an_aggregate(
    stream: StreamUnderTest, database: DynamoDb, numbers: list[str], make_query: Callable[..., Query]
) -> None:
    """
    A streaming query continues after the very user record. The table is read once: a restarted query has a checkpoint of its own.
    """
    database.put_item(kcl_lease(shard_of(stream), numbers[1], 0, leaseOwner={"S": "a stopped worker"}))
    query = make_query(options(stream, database)).start().wait_for_rows(5).stop()
    assert query.payloads == [b"1/1", b"1/2", b"2/0", b"2/1", b"2/2"]
    stream.put_numbers(1)
    query.start().wait_for_rows(6).stop()
    assert database.calls["Scan"] == 1
    assert set(database.calls) == {"Scan"}


@pytest.mark.parametrize(
    ("record", "sub", "expected"),
    [
        (1, 0, [b"1/1", b"1/2", b"2/0", b"2/1", b"2/2"]),
        (1, 2, [b"2/0", b"2/1", b"2/2"]),
        (1, 2**31 - 1, [b"2/0", b"2/1", b"2/2"]),
        (2, 2, []),
        (2, -1, [b"2/0", b"2/1", b"2/2"]),
    ],
)
def test_batch_reads(
    stream: StreamUnderTest,
    database: DynamoDb,
    numbers: list[str],
    record: int,
    sub: int,
    expected: list[bytes],
) -> None:
    """A batch read starts there too."""
    database.put_item(kcl_lease(shard_of(stream), numbers[record], sub))
    reader = batch_reader(options(stream, database))
    assert payloads(reader, reader.partitions()) == expected


def test_words(stream: StreamUnderTest, database: DynamoDb, numbers: list[str]) -> None:
    """A lease at LATEST says no position. The error shows how to add it, and so it is added."""
    assert numbers
    shard_id = shard_of(stream)
    database.put_item(kcl_lease(shard_id, "LATEST"))
    with streaming(options(stream, database)) as reader, pytest.raises(OptionError) as caught:
        reader.initialOffset()
    assert f'"{shard_id}": "AT_TIMESTAMP 2026-01-31T09:00:00Z"' in str(caught.value)
    with streaming(options(stream, database, by_hand={shard_id: "TRIM_HORIZON"})) as reader:
        assert len(payloads(reader, plan(reader)[0])) == 9


@pytest.mark.parametrize("sub", [0, 2])
def test_without_unpacking(stream: StreamUnderTest, database: DynamoDb, numbers: list[str], sub: int) -> None:
    """A query that does not unpack starts after a whole record, and cannot start inside an aggregate."""
    database.put_item(kcl_lease(shard_of(stream), numbers[1], sub))
    with streaming(options(stream, database, deaggregate="false")) as reader:
        if sub == 2:
            assert len(payloads(reader, plan(reader)[0])) == 1
        else:
            with pytest.raises(OptionError, match="'deaggregate' must be true to read the rest"):
                reader.initialOffset()


def test_a_table_that_does_not_exist(
    spark: SparkSession, stream: StreamUnderTest, database: DynamoDb
) -> None:
    """The user sees which table is missing."""
    start = json.dumps({"kclApplication": "no-such-application"})
    given = stream.options(startingPosition=start, dynamodbEndpointUrl=database.endpoint_url)
    with pytest.raises(Exception, match="table no-such-application does not exist"):
        spark.read.format("kinesis").options(**given).load().count()


@pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
def test_there_and_back(stream: StreamUnderTest, database: DynamoDb, position: str) -> None:
    """What a query publishes, another query can start from, also of a shard that had no record yet."""
    published = stream.options(**database.options(startingPosition=position))
    with streaming(published) as reader:
        _, end = plan(reader)
        plan(reader, end)
    [lease] = database.leases().values()
    assert lease.checkpoint == "TRIM_HORIZON"
    stream.put_numbers(3)
    with streaming(options(stream, database)) as reader:
        assert len(payloads(reader, plan(reader)[0])) == 3


def test_publishing_from_latest(emulator: Emulator, stream: StreamUnderTest, database: DynamoDb) -> None:
    """
    A query that starts at LATEST publishes the last record before its start, so that whoever continues neither repeats the old records
    nor skips new ones.
    """
    hour_ago_s = time.time() - 3600
    old = [emulator.put(stream.name, b"old", arrived_s=hour_ago_s + number) for number in range(300)]
    published = stream.options(**database.options(startingPosition="LATEST"))
    with streaming(published) as reader:
        _, end = plan(reader)
        plan(reader, end)
    [lease] = database.leases().values()
    assert lease.checkpoint == str(old[-1].sequence_number)
    stream.put_numbers(3)
    with streaming(options(stream, database)) as reader:
        assert len(payloads(reader, plan(reader)[0])) == 3
