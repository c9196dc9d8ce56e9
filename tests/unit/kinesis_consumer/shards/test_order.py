"""Whether a shard may be begun."""

from __future__ import annotations

from attrs import evolve

from kinesis_consumer.shards import unfinished_parents
from kinesis_core.leases import FINISHED, Lease, LeaseCheckpoint

CHILD = Lease("c", LeaseCheckpoint("TRIM_HORIZON"), "1:orders:2", parents=("a", "b"))
PARENT = Lease("a", LeaseCheckpoint("49"), "1:orders:2")


def test_unfinished_parent() -> None:
    """A child waits for each parent that is not finished."""
    other = evolve(PARENT, shard_id="b")
    leases = {lease.key: lease for lease in (PARENT, other)}
    assert unfinished_parents(CHILD, leases.get) == ["a", "b"]
    leases[PARENT.key] = evolve(PARENT, checkpoint=FINISHED)
    assert unfinished_parents(CHILD, leases.get) == ["b"]


def test_parents_without_a_lease() -> None:
    """A child does not wait for a parent without a lease, nor for a shard of that name in another stream."""
    assert unfinished_parents(CHILD, {"a": evolve(PARENT, stream_id=None)}.get) == []
