"""AWS's own KCL works over the emulator and DynamoDB Local, and its workers do what the tests tell them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from support.kcl.application import KclApplication, repeated
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.event_process import EventProcessError
from support.kcl.group_worker import Delivered
from support.kcl.worker import PROGRAMS, VERSIONS, Version, quick
from support.streams import StreamUnderTest
from support.witnesses.claims import check_claim

pytestmark = pytest.mark.witness
each_version = pytest.mark.parametrize("version", VERSIONS)
Make = Callable[..., KclApplication]


def by_key(records: list[Delivered]) -> dict[str, list[int]]:
    """Return the numbers of the user records of each partition key, in the order in which they came."""
    found: dict[str, list[int]] = {}
    for record in records:
        found.setdefault(record.partition_key, []).append(int(record.data))
    return found


@each_version
def test_one_worker_reads_all_over_reshards(application: KclApplication, version: Version) -> None:
    """1,000 user records in aggregates, over a split and a merge: each comes once, in the order of its key."""
    application.put(400)
    worker = application.start(version)
    worker.wait_records(400)
    application.stream.split()
    application.put(300)
    application.stream.merge(1)
    application.put(300)
    records = application.wait_all_delivered()
    assert not repeated(records)
    assert all(numbers == sorted(numbers) for numbers in by_key(records).values())
    assert max(record.sub_sequence_number for record in records) > 1
    worker.stop(graceful=False)
    ended = [event["shard"] for event in worker.events("shardEnded")]
    assert len(ended) == len(set(ended)) == 3


@each_version
def test_two_workers_share(kcl_application: Make, version: Version) -> None:
    """A second worker gets shards of the first one, and nothing is lost or comes twice."""
    application = kcl_application(shards=4)
    application.create_table()
    by_number = {"leaseAssignmentStrategy": "LEASE_COUNT_BASED"} if version == "3.5.1" else {}
    settings = quick(version, **by_number)
    first = application.start(version, "first", settings=settings)
    application.put(200)
    first.process.wait_until(lambda: len(first.records()) == 200 and len(first.checkpoints()) == 4)
    second = application.start(version, "second", settings=settings)
    second.process.wait_until(lambda: len(second.shards()) == 2 and not first.shards() & second.shards())
    application.put(200)
    assert not repeated(application.wait_all_delivered())


def test_it_stops_only_inside_an_aggregate(kcl_application: Make) -> None:
    """A worker that is to stop inside an aggregate goes on behind plain records, until the next aggregate."""
    application = kcl_application(shards=1)
    application.put(3, aggregate_bytes=0)
    application.put(5)
    worker = application.start("2.7.2", stop_after=1)
    worker.process.wait()
    assert [(each.data, each.sub_sequence_number) for each in worker.records()] == [
        *[(str(number), 0) for number in range(4)]
    ]


def test_a_graceful_hand_over(kcl_application: Make) -> None:
    """A worker of KCL 3 is asked to checkpoint before another one gets its shard, which goes on exactly there."""
    application = kcl_application(shards=4)
    application.create_table()
    first = application.start("3.5.1", "first", metric=90, checkpoint="command")
    application.put(200)
    first.wait_records(200)
    assert not first.checkpoints()
    second = application.start("3.5.1", "second", metric=10)
    moved = second.process.wait_for("initialized")
    first.process.wait_for("shutdownRequested", shard=moved["shard"])
    assert moved["checkpoint"] == list(first.checkpoints()[moved["shard"]])
    assert not repeated(application.wait_all_delivered())


@each_version
def test_a_killed_worker_is_replaced(application: KclApplication, version: Version) -> None:
    """After `kill -9` another worker gets the shards, and what was not committed comes again."""
    first = application.start(version, "first", checkpoint="command")
    application.put(200)
    first.wait_records(200)
    first.checkpoint()
    application.put(100)
    first.wait_records(300)
    first.kill()
    second = application.start(version, "second")
    records = second.wait_records(100)
    assert {record.data for record in records} == set(application.sent[200:])
    check_claim(
        f"KCL {version}",
        "a worker is killed with 100 records that it has not committed",
        application.sent,
        [record.data for record in application.delivered()],
    )


@each_version
def test_a_frozen_worker_loses_its_shards(application: KclApplication, version: Version) -> None:
    """A worker that was frozen for longer than the lease duration finds out that another one has its shards."""
    first = application.start(version, "first")
    first.wait_shards(2)
    first.process.freeze()
    application.start(version, "second").wait_shards(2)
    first.process.thaw()
    first.process.wait_until(lambda: len(first.events("leaseLost")) >= 2)
    application.put(100)
    application.wait_all_delivered()


@each_version
def test_a_hung_worker_keeps_its_shard(application: KclApplication, version: Version) -> None:
    """A worker whose processor hangs goes on renewing its leases, so no other worker gets the shard."""
    application.put(100)
    first = application.start(version, "first", stop_after=20, stop_how="hang")
    shard_id = first.process.wait_for("halted")["shard"]
    counter = application.leases()[shard_id]["leaseCounter"]
    first.process.wait_until(lambda: application.leases()[shard_id]["leaseCounter"] > counter + 2)
    assert application.leases()[shard_id]["leaseOwner"] == "first"


@each_version
def test_fan_out(application: KclApplication, version: Version) -> None:
    """Enhanced fan-out works too: the KCL registers its consumer, and subscribes to each shard."""
    application.put(100)
    worker = application.start(version, retrieval="fanOut")
    worker.wait_records(100)
    consumers = application.stream.client.list_stream_consumers(StreamARN=arn(application.stream))
    assert [each["ConsumerName"] for each in consumers["Consumers"]] == [application.name]


def arn(stream: StreamUnderTest) -> str:
    summary = stream.client.describe_stream_summary(StreamName=stream.name)
    return str(summary["StreamDescriptionSummary"]["StreamARN"])


@each_version
def test_a_worker_begins_with_loaded_classes(application: KclApplication, version: Version) -> None:
    """Its JVM takes most classes from the archive of an earlier worker, and loads few from the jars."""
    worker = application.start(version)
    worker.wait_started()
    maps = Path(f"/proc/{worker.process.pid}/maps").read_text()
    assert str(PROGRAMS[version].install().loaded) in maps


def test_only_this_machine_reaches_it(dynamodb_local: DynamoDbLocal) -> None:
    """DynamoDB Local listens on 127.0.0.1, and nowhere else."""
    listening = [
        each.laddr.ip
        for each in psutil.Process(dynamodb_local.process.pid).net_connections()
        if each.status == psutil.CONN_LISTEN
    ]
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_a_setting_that_does_not_exist(application: KclApplication) -> None:
    """A setting that this version of the KCL does not have is an error, which names it."""
    settings = quick("2.7.2", leaseAssignmentIntervalMillis=500)
    worker = application.start("2.7.2", settings=settings)
    with pytest.raises(EventProcessError, match=r"has no setting leaseManagement\.leaseAssignmentInterval"):
        worker.wait_started()
