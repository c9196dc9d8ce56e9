"""Leases that a hand or another program has spoiled: whatever is in them, a worker logs them and reads the other shards."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kinesis_consumer import GroupSettings
from kinesis_consumer.leases import new_item
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_consumer.worker import WorkerThreads
from kinesis_core.leases import OLDEST, Item, Lease, read_lease
from support.consumer_groups import fill, new_group, new_stream
from support.examples import examples
from support.fake_stream import FakeClock

GOOD, SPOILED = "shardId-000000000000", "shardId-000000000001"
HASHES = 2**128
ATTRIBUTES = (
    "leaseOwner",
    "leaseCounter",
    "checkpoint",
    "checkpointSubSequenceNumber",
    "pendingCheckpoint",
    "pendingCheckpointSubSequenceNumber",
    "pendingCheckpointState",
    "pendingBatch",
    "emptyUntil",
    "startingTime",
    "streamIdentifier",
    "workerProcess",
    "ownerSwitchesSinceCheckpoint",
    "parentShardId",
    "childShardIds",
    "startingHashKey",
    "endingHashKey",
    "checkpointOwner",
    "throughputKBps",
    "entityType",
)
"""All attributes that a lease may have but its key."""
texts = st.text(max_size=5) | st.sampled_from(
    [
        "",
        "LATEST",
        "NOWHERE",
        "4966/3",
        "1 4966 5",
        "1 TRIM_HORIZON 9 9",
        "9" * 130,
        "-1",
        "0x5",
        "a:b",
        "1:orders:x",
    ]
)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(10**40)
leaves = (
    texts | numbers | st.booleans() | st.none() | st.binary(max_size=3) | st.frozensets(texts, max_size=3)
)
values = leaves | st.lists(leaves, max_size=2) | st.dictionaries(texts, leaves, max_size=2)
"""Every kind of value that DynamoDB has. A set of numbers comes as a list."""


def is_position(name: str, value: Any) -> bool:
    """Return whether *value* is a position of another stream, which Kinesis refuses: that is no malformed lease."""
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 130
    is_time = name == "startingTime" and isinstance(value, int) and not isinstance(value, bool)
    is_stream = name == "streamIdentifier" and isinstance(value, str)
    return ("heckpoint" in name and is_number) or (is_time and value > 0) or is_stream


spoilt = st.dictionaries(st.sampled_from(ATTRIBUTES), values, min_size=1, max_size=3).filter(
    lambda junk: not any(is_position(name, value) for name, value in junk.items())
)


def whole(shard_id: str) -> Item:
    start = 0 if shard_id == GOOD else HASHES // 2
    return new_item(Lease(shard_id, OLDEST, hash_range=(start, start + HASHES // 2 - 1)))


def turn(threads: WorkerThreads, clock: FakeClock) -> None:
    """Do all that the threads of a worker do, some seconds long."""
    for _ in range(8):
        clock.sleep(1)
        threads.coordinator.step()
        threads.worker.leases.renew()
        for reader in threads.worker.due_readers():
            threads.worker.advance(reader)
        while (batch := threads.worker.take()) is not None:
            batch.commit()


def worker_of(table: MemoryTable) -> tuple[WorkerThreads, FakeClock]:
    stream, clock = new_stream(2), FakeClock()
    fill(stream, 4)
    quick = GroupSettings(lease_duration_s=10)
    return new_group(stream, table, settings=quick, clock=clock)._threads, clock


@given(junk=spoilt)
@settings(max_examples=examples(300), deadline=None)
def test_a_lease_that_is_malformed_at_the_start(junk: dict[str, Any]) -> None:
    """The worker reads the other shard, and closes in order."""
    table = MemoryTable()
    table.create(GOOD, whole(GOOD))
    table.create(SPOILED, {**whole(SPOILED), **junk})
    threads, clock = worker_of(table)
    turn(threads, clock)
    assert GOOD in threads.worker.leases.shards.held()
    assert read_lease(table.get(GOOD) or {}).checkpoint.is_number
    threads.coordinator.close()


@given(junk=spoilt)
@settings(max_examples=examples(300), deadline=None)
def test_a_lease_that_is_spoilt_while_it_is_held(junk: dict[str, Any]) -> None:
    """The worker loses it, if it cannot be read, and keeps the other one."""
    table = MemoryTable()
    threads, clock = worker_of(table)
    turn(threads, clock)
    assert threads.worker.leases.shards.held() == {GOOD, SPOILED}
    table.update(Update(SPOILED, {}, junk))
    turn(threads, clock)
    assert GOOD in threads.worker.leases.shards.held()
    threads.coordinator.close()


@pytest.mark.parametrize("key", ["orders:shardId-000000000001", "1:orders:x:shardId-000000000001", ":"])
def test_an_item_whose_key_is_none_of_a_lease(key: str) -> None:
    """It is no lease of a group with several streams either."""
    table = MemoryTable()
    for each in (GOOD, SPOILED, key):
        table.create(each, whole(SPOILED if each == key else each))
    threads, clock = worker_of(table)
    turn(threads, clock)
    assert threads.worker.leases.shards.held() == {GOOD, SPOILED}
