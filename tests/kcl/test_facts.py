"""What AWS's own KCL writes into its table, and what it makes of what it finds there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_core.aws import Connection, stream_client
from kinesis_core.leases import LeasePublisher, open_table
from kinesis_core.leases.lease import identify_stream
from kinesis_core.model import After, Offset, ShardOffset, StreamOffset
from kinesis_credentials import StaticKeys
from support.kcl.application import KclApplication, repeated
from support.kcl.worker import VERSIONS, Version, quick
from support.streams import KEY_ID, SECRET, Put, StreamUnderTest

pytestmark = pytest.mark.witness
each_version = pytest.mark.parametrize("version", VERSIONS)
Make = Callable[..., KclApplication]


def test_the_items_of_a_new_table_of_kcl_3(kcl_application: Make) -> None:
    """KCL 3.5 makes one table with an index, in which leases are one of four kinds of items."""
    application = kcl_application()
    worker = application.start("3.5.1", "first", metric=50)
    application.put(50)
    worker.wait_records(50)
    worker.process.wait_until(lambda: "first" in application.items())
    items = application.items()
    kinds = {key: item["entityType"] for key, item in items.items()}
    leases = {f"shardId-{number:012}": "LEASE" for number in range(2)}
    singles = {"Leader": "LEADER", "Migration3.0": "CLIENT_VERSION_MIGRATION", "first": "WORKER_METRIC_STATS"}
    assert kinds == leases | singles
    assert items["Leader"]["ownerName"] == "first"
    assert items["Leader"].keys() == {
        *("leaseKey", "entityType", "ownerName", "leaseDuration", "recordVersionNumber")
    }
    assert items["Migration3.0"]["cv"] == "CLIENT_VERSION_3X"
    assert [entry["cv"] for entry in items["Migration3.0"]["h"]] == ["CLIENT_VERSION_INIT"]
    assert items["first"].keys() == {"leaseKey", "entityType", "lut", "sts", "opr", "sup", "slu"}
    assert items["first"]["opr"] == {"C": [100]}
    client = application.dynamodb.client
    [index] = client.describe_table(TableName=application.name)["Table"]["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "LeaseOwnerToLeaseKeyIndex"
    assert not [
        name for name in client.list_tables()["TableNames"] if name.startswith(f"{application.name}-")
    ]
    worker.stop()
    assert "Leader" not in application.items()


def test_kcl_3_beside_running_workers_of_kcl_2(application: KclApplication) -> None:
    """In the mode that is compatible with 2.x, KCL 3 steals leases as KCL 2 does, and writes its metrics already."""
    old = application.start("2.7.2", "old")
    application.put(200)
    old.process.wait_until(lambda: len(old.records()) == 200 and len(old.checkpoints()) == 2)
    compatible = {"coordinator.clientVersionConfig": "CLIENT_VERSION_CONFIG_COMPATIBLE_WITH_2X"}
    new = application.start("3.5.1", "new", settings={**quick("3.5.1"), **compatible})
    new.wait_shards(1)
    old.wait_shards(1)
    application.put(200)
    assert not repeated(application.wait_all_delivered())
    items = application.items()
    assert items["Migration3.0"]["cv"] == "CLIENT_VERSION_UPGRADE_FROM_2X"
    assert items["new"]["entityType"] == "WORKER_METRIC_STATS"
    assert "Leader" not in items
    assert all("entityType" not in lease for lease in application.leases().values())


@each_version
@pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
def test_a_timestamp_that_is_not_configured(
    application: KclApplication, version: Version, position: str
) -> None:
    """
    A lease at AT_TIMESTAMP is never read by a KCL that is configured with another position: it fails again and again.
    """
    application.put(20)
    for lease in initial_leases(application, "AT_TIMESTAMP"):
        application.dynamodb.client.put_item(TableName=application.name, Item=lease)
    worker = application.start(version, position=position)
    worker.process.wait_until(lambda: len(worker.events("taskFailed", task="INITIALIZE")) >= 6)
    assert "java.lang.NullPointerException" in worker.process.log.read_text()
    assert not worker.events("initialized", "records")


def initial_leases(application: KclApplication, checkpoint: str) -> list[dict[str, Any]]:
    """Return a lease for each open shard, of which nothing was read."""
    return [
        {
            "leaseKey": {"S": shard["ShardId"]},
            "leaseCounter": {"N": "0"},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
            "checkpoint": {"S": checkpoint},
            "checkpointSubSequenceNumber": {"N": "0"},
        }
        for shard in application.stream.open_shards()
    ]


@each_version
def test_a_configured_timestamp(application: KclApplication, version: Version) -> None:
    """With AT_TIMESTAMP as its position a KCL reads such leases, from the time that it is configured with."""
    application.put(20)
    for lease in initial_leases(application, "AT_TIMESTAMP"):
        application.dynamodb.client.put_item(TableName=application.name, Item=lease)
    worker = application.start(version, position="AT_TIMESTAMP:1000")
    assert len(worker.wait_records(20)) == 20


@each_version
def test_it_goes_on_from_published_leases(application: KclApplication, version: Version) -> None:
    """A KCL goes on behind the records that `LeasePublisher` says were processed."""
    puts = application.stream.put_numbers(100)
    halves = {shard_id: of_shard[: len(of_shard) // 2] for shard_id, of_shard in by_shard(puts).items()}
    shards = {
        shard_id: ShardOffset(After(int(half[-1].sequence_number))) for shard_id, half in halves.items()
    }
    publish(application, Offset({application.stream.name: StreamOffset(0, shards)}))
    done = {put.data.decode() for half in halves.values() for put in half}
    records = application.start(version).wait_records(100 - len(done))
    assert not repeated(records)
    assert {record.data for record in records} == {put.data.decode() for put in puts} - done


def by_shard(puts: list[Put]) -> dict[str, list[Put]]:
    found: dict[str, list[Put]] = {}
    for put in puts:
        found.setdefault(put.shard_id, []).append(put)
    return found


def publish(application: KclApplication, offset: Offset) -> None:
    connection = Connection.to_stream(
        application.stream.name,
        region=application.stream.region,
        endpoint_url=application.kinesis_url,
        credentials=StaticKeys(KEY_ID, SECRET),
    )
    [stream] = connection.streams
    table = open_table(connection, application.name, application.dynamodb.endpoint_url)
    publisher = LeasePublisher(table, {application.stream.name: stream_client(connection, stream)})
    publisher.publish(offset)
    publisher.close()


@each_version
def test_several_streams(application: KclApplication, kcl_application: Make, version: Version) -> None:
    """An application of several streams has leases named after account, stream, creation time and shard."""
    application.put(50)
    other = kcl_application(shards=1)
    other.put(50)
    identifiers = [identify(each.stream) for each in (application, other)]
    worker = application.start(version, stream=",".join(identifiers))
    worker.process.wait_until(lambda: len(worker.records()) == 100)
    assert {event["stream"] for event in worker.events("records")} == {
        application.stream.name,
        other.stream.name,
    }
    keys = {f"{identifiers[0]}:shardId-{number:012}" for number in range(2)}
    assert set(application.leases()) == {*keys, f"{identifiers[1]}:shardId-000000000000"}


def identify(stream: StreamUnderTest) -> str:
    summary = stream.client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]
    return identify_stream(summary["StreamARN"], int(summary["StreamCreationTimestamp"].timestamp() * 1000))


@pytest.mark.parametrize(("version", "successor"), [("2.7.2", "3.5.1"), ("3.5.1", "3.5.1")])
def test_stopped_inside_an_aggregate(
    application: KclApplication, version: Version, successor: Version
) -> None:
    """
    A worker that stops inside an aggregate names the user record, and the next one goes on behind that one.

    Records of the other shard may come again: its thread is stopped anywhere.
    """
    application.put(300)
    first = application.start(version, stop_after=100)
    first.process.wait()
    [shard_id] = [event["shard"] for event in first.events("halted")]
    number, sub_number = first.checkpoints()[shard_id]
    lease = application.leases()[shard_id]
    assert (lease["checkpoint"], lease["checkpointSubSequenceNumber"]) == (number, sub_number)
    second = application.start(successor)
    assert not repeated(record for record in application.wait_all_delivered() if record.shard_id == shard_id)
    rest = [each for each in second.records(shard_id) if each.sequence_number == number]
    assert rest[0].sub_sequence_number == sub_number + 1


@each_version
def test_a_prepared_checkpoint(application: KclApplication, version: Version) -> None:
    """The next owner of a shard is told which checkpoint was prepared, and with what state."""
    application.put(100)
    first = application.start(version, checkpoint="never")
    shard_id = min(first.wait_shards(2))
    first.wait_records(100)
    first.prepare(shard_id, "half done")
    prepared = first.process.wait_for("prepared")["pending"]
    first.kill()
    lease = application.leases()[shard_id]
    pending = lease["pendingCheckpoint"], lease["pendingCheckpointSubSequenceNumber"]
    assert [*pending, lease["pendingCheckpointState"]] == [*prepared, b"half done"]
    found = application.start(version).process.wait_for("initialized", shard=shard_id)
    assert found["checkpoint"] == ["TRIM_HORIZON", 0]
    assert (found["pending"], found["pendingState"]) == (prepared, "half done")
