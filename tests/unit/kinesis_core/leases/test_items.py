"""Leases as items of a table."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kinesis_core.leases.attributes import Item, Value, from_dynamodb, to_dynamodb
from kinesis_core.leases.items import (
    LeaseItemError,
    checkpoint_attributes,
    commit_time,
    is_lease,
    pending_attributes,
    read_lease,
    shard_attributes,
)
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.model import LAST_EPOCH_MS

ITEM: Item = {
    "leaseKey": "shardId-000000000001",
    "leaseOwner": "worker-2",
    "checkpointOwner": "worker-1",
    "leaseCounter": 12,
    "checkpoint": "4966",
    "checkpointSubSequenceNumber": 3,
    "pendingCheckpoint": "4967",
    "pendingCheckpointSubSequenceNumber": 0,
    "ownerSwitchesSinceCheckpoint": 2,
    "parentShardId": frozenset({"shardId-000000000000"}),
    "childShardIds": frozenset({"shardId-000000000003", "shardId-000000000002"}),
    "startingHashKey": "0",
    "endingHashKey": "99",
    "throughputKBps": 12.5,
    "entityType": "LEASE",
    "unknownToUs": b"1",
}


def test_attributes_are_read() -> None:
    """A lease has what its item says, with shard ids in order. Attributes that nothing here needs are ignored."""
    assert read_lease(ITEM) == Lease(
        shard_id="shardId-000000000001",
        checkpoint=LeaseCheckpoint("4966", 3),
        parents=("shardId-000000000000",),
        children=("shardId-000000000002", "shardId-000000000003"),
        hash_range=(0, 99),
        owner="worker-2",
        checkpoint_owner="worker-1",
        counter=12,
        pending=LeaseCheckpoint("4967"),
    )


def test_when_a_checkpoint_was_committed() -> None:
    """The time belongs to a checkpoint. After a KCL has moved that one, which leaves the time as it is, the time is not known."""
    checkpoint, at_ms = LeaseCheckpoint("4966", 3), 1_790_000_000_000
    committed = commit_time(checkpoint, at_ms)
    assert committed == {"committedAt": "4966/3 1790000000000"}
    assert read_lease({**ITEM, **committed}).committed_ms == at_ms
    moved = {**ITEM, **committed, **checkpoint_attributes(LeaseCheckpoint("4967"))}
    assert read_lease(moved).committed_ms is None


@pytest.mark.parametrize("value", [1_790_000_000_000, "4966/3", "4966/3 soon", "4966/3 -1", ""])
def test_a_malformed_time_of_a_commit(value: Value) -> None:
    """It counts for nothing. The lease is valid: nobody continues from the time."""
    assert read_lease({**ITEM, "committedAt": value}) == read_lease(ITEM)


@pytest.mark.parametrize("kind", ["LEADER", "STREAM", "WORKER_METRIC_STATS", "CLIENT_VERSION_MIGRATION"])
def test_items_that_are_no_leases(kind: str) -> None:
    """Items of another type are no leases. An item without a type is one: older KCLs write none."""
    assert not is_lease({"leaseKey": "Leader", "entityType": kind})
    assert is_lease({"leaseKey": "shardId-1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("checkpoint", "soon"),
        ("checkpoint", 4966),
        ("checkpoint", "\u0664\u0669"),
        ("leaseCounter", "12"),
        ("leaseOwner", 1),
        ("pendingCheckpoint", "never"),
        ("parentShardId", "shardId-000000000000"),
        ("startingHashKey", "low"),
        ("startingTime", "1790000000000"),
        ("startingTime", -1),
        ("startingTime", 10**15),
        ("leaseCounter", True),
        ("checkpoint", "9" * 130),
        ("startingHashKey", "-1"),
        ("startingHashKey", "100"),
        ("endingHashKey", str(2**128)),
        ("childShardIds", frozenset({1})),
        ("streamIdentifier", "orders"),
        ("workerProcess", 5),
        ("ownerSwitchesSinceCheckpoint", "0"),
    ],
)
def test_malformed_attributes(name: str, value: Value) -> None:
    """An error names the item and says which attribute is malformed."""
    with pytest.raises(LeaseItemError, match=r"item 'shardId-000000000001' is not a valid lease"):
        read_lease({**ITEM, name: value})


@pytest.mark.parametrize(
    "key", ["orders:shardId-000000000001", "1:orders:x:shardId-000000000001", "1:orders:17:", ":"]
)
def test_malformed_keys(key: str) -> None:
    """A key is that of a shard, or account, stream, creation time and shard."""
    with pytest.raises(LeaseItemError, match="its key is neither"):
        read_lease({**ITEM, "leaseKey": key})


@pytest.mark.parametrize("name", ["checkpoint", "leaseCounter"])
def test_missing_attributes(name: str) -> None:
    """An error names the attribute that every lease has and this one lacks."""
    with pytest.raises(LeaseItemError, match=name):
        read_lease({key: value for key, value in ITEM.items() if key != name})


def test_order_of_checkpoints() -> None:
    """Checkpoints are ordered as in the KCL: a time, the oldest, the latest, records, user records in them, the end."""
    words = [LeaseCheckpoint(word) for word in ("AT_TIMESTAMP", "TRIM_HORIZON", "LATEST")]
    numbers = [LeaseCheckpoint("9"), LeaseCheckpoint("10"), LeaseCheckpoint("10", 1)]
    assert all(a < b for a, b in pairwise([*words, *numbers, LeaseCheckpoint("SHARD_END")]))


numbers = st.integers(1, 10**57).map(str) | st.sampled_from(
    ["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP", "SHARD_END"]
)
hash_keys = st.integers(0, 2**128 - 1)
checkpoints = st.builds(LeaseCheckpoint, numbers, st.integers(0, 2**31 - 1))
ids = st.sets(st.from_regex(r"shardId-[0-9]{12}", fullmatch=True), max_size=2).map(
    lambda found: tuple(sorted(found))
)
leases = st.builds(
    Lease,
    shard_id=st.from_regex(r"shardId-[0-9]{12}", fullmatch=True),
    checkpoint=checkpoints,
    stream_id=st.none() | st.just("123:orders:17"),
    parents=ids,
    children=ids,
    hash_range=st.none() | st.tuples(hash_keys, hash_keys).map(lambda keys: (min(keys), max(keys))),
    pending=st.none() | checkpoints,
    starting_ms=st.none() | st.integers(0, LAST_EPOCH_MS),
    stream_identifier=st.none() | st.just("123:orders:17"),
    process=st.none(),
)


@given(lease=leases)
def test_written_leases_are_read_back(lease: Lease) -> None:
    """A lease that is written as attributes of DynamoDB is read back as it was."""
    item: Item = {
        "leaseKey": lease.key,
        "leaseCounter": 0,
        **checkpoint_attributes(lease.checkpoint),
        **shard_attributes(lease),
        **(pending_attributes(lease.pending) if lease.pending else {}),
    }
    assert read_lease({name: from_dynamodb(to_dynamodb(value)) for name, value in item.items()}) == lease


values = st.recursive(
    st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
)


@given(value=values | st.frozensets(st.text(), min_size=1))
def test_values_are_read_back(value: Value) -> None:
    """Every value is read back from DynamoDB's JSON as it was; a whole number may come back as an integer."""
    assert from_dynamodb(to_dynamodb(value)) == value
