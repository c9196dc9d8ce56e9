"""Shard offsets as leases of the KCL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kinesis_core.leases.attributes import item_to_dynamodb
from kinesis_core.leases.items import checkpoint_attributes, shard_attributes
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.published import leases_of
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Shard,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
    by_id,
)

NUMBER = 49_666_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
PARENT = Shard("shardId-000000000000", None, None, 0, 2**128 - 1, NUMBER, NUMBER + 1)
LEFT = Shard("shardId-000000000001", PARENT.shard_id, None, 0, 2**127 - 1, NUMBER, NUMBER + 1)
RIGHT = Shard("shardId-000000000002", PARENT.shard_id, None, 2**127, 2**128 - 1, NUMBER, NUMBER + 1)
MERGED = Shard("shardId-000000000003", LEFT.shard_id, RIGHT.shard_id, 0, 2**128 - 1, NUMBER, None)
LISTING = by_id([PARENT, LEFT, RIGHT, MERGED])
ORDERS = "123456789012:orders:1780000000"
GOLDEN = Path(__file__).parents[3] / "golden" / "leases"


def test_lineage() -> None:
    """A lease has the parents and the hash key range of its shard, and its children once it is finished."""
    stream = StreamOffset(
        1,
        {
            PARENT.shard_id: ShardOffset(ShardEnd()),
            LEFT.shard_id: ShardOffset(ShardEnd()),
            RIGHT.shard_id: ShardOffset(After(5)),
        },
    )
    parent, left, right, merged = leases_of(stream, LISTING)
    assert (parent.parents, parent.children) == ((), (LEFT.shard_id, RIGHT.shard_id))
    assert (left.parents, left.children) == ((PARENT.shard_id,), (MERGED.shard_id,))
    assert (right.children, right.hash_range) == ((), (2**127, 2**128 - 1))
    assert merged.parents == (LEFT.shard_id, RIGHT.shard_id)
    assert merged.checkpoint == LeaseCheckpoint("TRIM_HORIZON")


def test_shards_that_are_gone() -> None:
    """A shard that Kinesis no longer lists has a lease without parents, children and hash keys."""
    [lease] = leases_of(StreamOffset(1, {"shardId-000000000009": ShardOffset(ShardEnd())}), {})
    assert lease == Lease("shardId-000000000009", LeaseCheckpoint("SHARD_END"))


def test_ancestors_that_the_offset_no_longer_names() -> None:
    """Listed ancestors of a shard in the offset are published as finished, with their children, also at LATEST."""
    leases = list(leases_of(StreamOffset(1, {MERGED.shard_id: ShardOffset(After(NUMBER + 2))}), LISTING))
    assert [lease.checkpoint.number for lease in leases] == ["SHARD_END"] * 3 + [str(NUMBER + 2)]
    assert leases[0].children == (LEFT.shard_id, RIGHT.shard_id)


def test_shards_that_begin_at_a_time() -> None:
    """A lease whose shard begins at a time holds that time, until the publisher has found the record before it."""
    [lease] = leases_of(StreamOffset(1, {MERGED.shard_id: ShardOffset(AtTimestamp(7))}), by_id([MERGED]))
    assert (lease.checkpoint.number, lease.starting_ms) == ("AT_TIMESTAMP", 7)


def written(lease: Lease) -> dict[str, Any]:
    """Return the attributes that a publication of *lease* sets, in DynamoDB's JSON."""
    return item_to_dynamodb({**checkpoint_attributes(lease.checkpoint), **shard_attributes(lease)})


def items(*, is_named: bool) -> list[dict[str, Any]]:
    """Return the items of a stream whose shards are at every kind of cut."""
    last = Shard("shardId-000000000004", None, None, 0, 2**128 - 1, NUMBER, None)
    stream = StreamOffset(
        1,
        {
            PARENT.shard_id: ShardOffset(ShardEnd()),
            LEFT.shard_id: ShardOffset(After(NUMBER + 7)),
            RIGHT.shard_id: ShardOffset(At(NUMBER + 9), first=NUMBER + 8),
            MERGED.shard_id: ShardOffset(TrimHorizon()),
            last.shard_id: ShardOffset(At(NUMBER + 9, skip=3)),
        },
    )
    names = (ORDERS, None) if is_named else (None, ORDERS)
    leases = leases_of(stream, by_id([*LISTING.values(), last]), *names)
    return [{"leaseKey": {"S": lease.key}, **written(lease)} for lease in leases]


@pytest.mark.parametrize(("name", "is_named"), [("one-stream", False), ("several-streams", True)])
def test_items_are_written_as_released(name: str, *, is_named: bool) -> None:
    """The items of the table are exactly those in the golden files, which a KCL and dashboards read."""
    assert json.dumps(items(is_named=is_named), indent=1) + "\n" == (GOLDEN / f"{name}.json").read_text()
