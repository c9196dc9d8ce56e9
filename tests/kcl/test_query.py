"""A query takes over from a KCL application, and a KCL application from a query."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kinesis_core.aws import Connection, stream_client
from kinesis_core.leases import LeasePublisher, open_table
from kinesis_core.model import After, At, AtTimestamp, Cut, Offset, ShardEnd, ShardOffset, StreamOffset
from kinesis_credentials import StaticKeys
from support.halves import batch_reader, payloads
from support.kcl.application import KclApplication, repeated
from support.kcl.worker import VERSIONS, Version
from support.streams import KEY_ID, SECRET

pytestmark = pytest.mark.witness
each_version = pytest.mark.parametrize("version", VERSIONS)
each_position = pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
A, B = "shardId-000000000000", "shardId-000000000001"


def read_from(application: KclApplication) -> list[str]:
    """Return what a batch read has that starts where the application stopped."""
    start = json.dumps({"kclApplication": application.name})
    reader = batch_reader(
        application.stream.options(
            startingPosition=start, dynamodbEndpointUrl=application.dynamodb.endpoint_url
        )
    )
    return [data.decode() for data in payloads(reader, reader.partitions())]


@contextmanager
def publisher_to(application: KclApplication) -> Iterator[Callable[[dict[str, Cut]], None]]:
    """Yield a function that publishes cuts by shard, as one run of a query does."""
    connection = Connection.to_stream(
        application.stream.name,
        region=application.stream.region,
        endpoint_url=application.kinesis_url,
        credentials=StaticKeys(KEY_ID, SECRET),
    )
    [stream] = connection.streams
    name = application.stream.name
    publisher = LeasePublisher(
        open_table(connection, application.name, application.dynamodb.endpoint_url),
        {name: stream_client(connection, stream)},
    )

    def publish(cuts: dict[str, Cut]) -> None:
        shards = {shard_id: ShardOffset(cut) for shard_id, cut in cuts.items()}
        publisher.publish(Offset({name: StreamOffset(0, shards)}))

    try:
        yield publish
    finally:
        publisher.close()


@each_version
def test_a_query_after_an_application(application: KclApplication, version: Version) -> None:
    """A query reads exactly the user records after the checkpoints of a KCL that stopped inside an aggregate."""
    application.put(300)
    worker = application.start(version, stop_after=100)
    worker.process.wait()
    reached = {
        shard_id: (int(lease["checkpoint"]), int(lease["checkpointSubSequenceNumber"]))
        for shard_id, lease in application.leases().items()
        if lease["checkpoint"].isdigit()
    }
    [halted] = [event["shard"] for event in worker.events("halted")]
    assert reached[halted][1] > 0
    processed = {
        record.data
        for record in worker.records()
        if (int(record.sequence_number), record.sub_sequence_number) <= reached.get(record.shard_id, (0, 0))
    }
    rows = read_from(application)
    assert len(rows) == len(set(rows))
    assert set(rows) == set(application.sent) - processed


@each_version
@each_position
def test_an_application_in_unread_shards(
    application: KclApplication, version: Version, position: str
) -> None:
    """
    Whatever a KCL is configured with, it begins in shards of which a query has read nothing: after the records from before the query, and
    before those that came since.
    """
    old = set(application.put(200, keys=1))
    unread = AtTimestamp(int(time.time() * 1000) + 1)
    with publisher_to(application) as publish:
        publish({A: unread, B: unread})
        publish({A: unread, B: unread})
    words = [lease["checkpoint"] for lease in application.leases().values()]
    assert sorted(word.isdigit() for word in words) == [False, True]
    assert "TRIM_HORIZON" in words
    new = set(application.put(200))
    worker = application.start(version, position=position)
    records = worker.wait_records(200)
    assert {record.data for record in records} == new
    assert not repeated(records)
    assert not worker.events("taskFailed")
    assert old.isdisjoint(record.data for record in records)


@each_version
def test_an_application_before_a_record(application: KclApplication, version: Version) -> None:
    """A KCL begins with the record before which a query stopped, and inside the aggregate in which it starts."""
    application.put(300)
    rows = application.stored()
    numbers = {
        shard_id: sorted({int(row.sequence_number) for row in rows if row.shard_id == shard_id})
        for shard_id in (A, B)
    }
    middle = {shard_id: of_shard[len(of_shard) // 2] for shard_id, of_shard in numbers.items()}
    inside = [row for row in rows if int(row.sequence_number) == middle[B]]
    assert len(inside) > 3
    with publisher_to(application) as publish:
        publish({A: At(middle[A]), B: At(middle[B], skip=3)})
    expected = {
        row.data.decode()
        for row in rows
        if int(row.sequence_number) >= middle[row.shard_id] and row not in inside[:3]
    }
    records = application.start(version).wait_records(len(expected))
    assert {record.data for record in records} == expected
    assert not repeated(records)


@each_version
def test_a_query_beside_an_application(application: KclApplication, version: Version) -> None:
    """A KCL that has finished a shard and deleted its lease does not find it again, wherever a query behind it is."""
    application.put(100)
    worker = application.start(version)
    application.wait_all_delivered()
    number = int(worker.records(A)[0].sequence_number)
    application.stream.split()
    application.put(100)
    application.wait_all_delivered()
    worker.process.wait_until(lambda: A not in application.leases())
    behind: tuple[Cut, ...] = After(number), ShardEnd()
    for cut in behind:
        with publisher_to(application) as publish:
            publish({A: cut, B: After(number)})
    assert A not in application.leases()
    application.put(100)
    assert not repeated(application.wait_all_delivered())
    assert A not in application.leases()
