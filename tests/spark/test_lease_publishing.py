"""Progress is published to DynamoDB after each batch, in the KCL's format. No query waits for it or reads it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.lease_tables import DynamoDb, KclLease, dynamodb
from support.spark_harness import Query
from support.streams import Put, StreamUnderTest

MakeQuery = Callable[..., Query]


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        yield running


@pytest.fixture
def publish(stream: StreamUnderTest, database: DynamoDb, make_query: MakeQuery) -> Callable[..., Query]:
    """Return a function that makes queries that publish to the table."""

    def publish(**more: Any) -> Query:
        return make_query(stream.options(**database.options(**more)))

    return publish


def last_numbers(puts: list[Put]) -> dict[str, str]:
    """Return the sequence number of the last record of each shard."""
    return {
        put.shard_id: put.sequence_number for put in sorted(puts, key=lambda put: int(put.sequence_number))
    }


def wait_for_checkpoints(
    query: Query, database: DynamoDb, wanted: dict[str, str], table: str | None = None
) -> dict[str, KclLease]:
    """Wait until the leases of the shards in *wanted* have these checkpoints, and return all leases."""

    def found() -> bool:
        leases = database.leases(table)
        return {key: leases[key].checkpoint for key in wanted if key in leases} == wanted

    query.wait(found, "publication")
    return database.leases(table)


@pytest.mark.all_sparks
def test_positions(
    make_stream: Callable[..., StreamUnderTest], database: DynamoDb, make_query: MakeQuery
) -> None:
    """
    After each batch the table has the last sequence number read of each shard, in leases that the KCL can read and that have
    no owner.
    """
    stream = make_stream(shards=2)
    query = make_query(stream.options(**database.options()))
    puts = stream.put_numbers(20)
    query.start().wait_for_rows(20)
    first = wait_for_checkpoints(query, database, last_numbers(puts))
    assert len(first) == 2
    assert {lease.owner for lease in first.values()} == {None}
    assert {lease.owner_switches for lease in first.values()} == {0}
    assert {lease.hash_range for lease in first.values()} == {(0, 2**127 - 1), (2**127, 2**128 - 1)}
    puts += stream.put_numbers(20)
    query.wait_for_rows(40)
    second = wait_for_checkpoints(query, database, last_numbers(puts))
    assert all(second[key].counter > lease.counter for key, lease in first.items())


def test_resharding(stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query]) -> None:
    """The lease of a finished shard is at SHARD_END and names its children. Each child names its parent and has its own checkpoint."""
    [parent] = [shard["ShardId"] for shard in stream.open_shards()]
    stream.put_numbers(5)
    stream.split()
    puts = stream.put_numbers(20)
    query = publish().start().wait_for_rows(25)
    leases = wait_for_checkpoints(query, database, {parent: "SHARD_END", **last_numbers(puts)})
    children = {shard["ShardId"] for shard in stream.open_shards()}
    assert leases[parent].children == children
    assert all(leases[child].parents == {parent} for child in children)


@pytest.mark.all_sparks
def test_never_read_back(stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query]) -> None:
    """Entries that others write into the table change nothing: a restarted query continues from its own checkpoint."""
    puts = stream.put_numbers(10)
    query = publish().start().wait_for_rows(10)
    [(key, number)] = last_numbers(puts).items()
    wait_for_checkpoints(query, database, {key: number})
    query.stop()
    database.put_item({"leaseKey": {"S": key}, "checkpoint": {"S": "TRIM_HORIZON"}})
    stream.put_numbers(10)
    query.start().wait_for_rows(20).stop()
    assert query.payloads == stream.payloads
    assert set(database.calls) <= {"DescribeTable", "CreateTable", "UpdateItem"}


def test_leases_of_others(
    make_stream: Callable[..., StreamUnderTest], database: DynamoDb, make_query: MakeQuery
) -> None:
    """A lease that another consumer has taken over is not changed, while that of another shard is."""
    stream = make_stream(shards=2)
    database.create_table(leaseKey="HASH")
    taken, ours = (shard["ShardId"] for shard in stream.open_shards())
    theirs = {
        "leaseKey": {"S": taken},
        "leaseOwner": {"S": "a KCL worker"},
        "leaseCounter": {"N": "7"},
        "ownerSwitchesSinceCheckpoint": {"N": "1"},
        "checkpoint": {"S": "4966"},
        "checkpointSubSequenceNumber": {"N": "0"},
    }
    database.put_item(theirs)
    query = make_query(stream.options(**database.options())).start()
    for count in (20, 40):  # a publication is over once a later one is in the table
        last = last_numbers(stream.put_numbers(20))
        assert last.keys() == {taken, ours}
        query.wait_for_rows(count)
        wait_for_checkpoints(query, database, {ours: last[ours]})
    query.stop()
    assert theirs in database.client.scan(TableName=database.table, ConsistentRead=True)["Items"]
    assert database.updates[taken] >= 1


@pytest.mark.parametrize("code", ["InternalServerError", "ProvisionedThroughputExceededException"])
def test_failing_from_the_start(
    stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query], code: str
) -> None:
    """A DynamoDB that fails stops no query, not even at its start. Publishing then pauses for a while."""
    database.refuse = dict.fromkeys(("DescribeTable", "CreateTable", "UpdateItem"), code)
    query = publish(maxRetries="0").start()
    for count in (10, 20, 30):
        stream.put_numbers(10)
        query.wait_for_rows(count)
    query.stop()
    assert database.calls == {"DescribeTable": 1}


@pytest.mark.parametrize("operation", ["DescribeTable", "CreateTable", "UpdateItem"])
def test_missing_permission(
    stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query], operation: str
) -> None:
    """A permission that is missing when the query starts is an error that names the IAM action and the table."""
    database.refuse = {operation: "AccessDeniedException"}
    stream.put_numbers(1)
    with pytest.raises(
        Exception, match=rf"Allow the IAM action dynamodb:{operation} on the table.*{database.table}"
    ):
        publish().start().process_all()


def test_default_table(stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query]) -> None:
    """Without a table name, the name is the one that the awslabs connector would use."""
    puts = stream.put_numbers(1)
    query = publish(**{"kinesis.dynamodb.tableName": None}).start().wait_for_rows(1)
    table = f"kdsc_{stream.region}_{stream.name}"
    [(key, number)] = last_numbers(puts).items()
    query.wait(lambda: database.calls["UpdateItem"], "publication")  # there is no table before
    assert wait_for_checkpoints(query, database, {key: number}, table).keys() == {key}


def test_available_now(stream: StreamUnderTest, database: DynamoDb, publish: Callable[..., Query]) -> None:
    """A query that ends by itself has published its end."""
    puts = stream.put_numbers(10)
    publish(maxRecordsPerShard="4").start(availableNow=True).finish()
    [(key, number)] = last_numbers(puts).items()
    assert database.leases()[key].checkpoint == number
