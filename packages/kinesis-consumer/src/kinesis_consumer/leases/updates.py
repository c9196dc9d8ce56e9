"""
What a write to a lease means: the change and its condition, as the KCL makes them.

The counter of a lease is its heartbeat and its version. It grows with every write but the beginning of a graceful hand-over, so that
the worker that hands over still renews it. A write of the owner expects the counter that it read last.

Source: DynamoDBLeaseRefresher and DynamoDBLeaseSerializer of the KCL 3.5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinesis_consumer.stores import Update
from kinesis_core.leases import (
    EMPTY_UNTIL,
    ENTITY_TYPE,
    LEASE,
    LEASE_KEY,
    LEASE_OWNER,
    PENDING,
    PENDING_BATCH,
    PROCESS,
    Item,
    Lease,
    LeaseCheckpoint,
    Value,
    checkpoint_attributes,
    pending_attributes,
    shard_attributes,
)

COUNTER = "leaseCounter"
CHECKPOINT_OWNER = "checkpointOwner"
OWNER_SWITCHES = "ownerSwitchesSinceCheckpoint"


def new_item(lease: Lease) -> Item:
    """Return the item of a new lease, without its key."""
    return {
        COUNTER: 0,
        **checkpoint_attributes(lease.checkpoint),
        **shard_attributes(lease),
        **({} if lease.empty_until is None else {EMPTY_UNTIL: lease.empty_until}),
        ENTITY_TYPE: LEASE,
    }


def renew(lease: Lease, attributes: Mapping[str, Value] | None = None) -> Update:
    """
    Show that the owner is alive; *attributes* are written as well.

    A hand-over that has begun since makes it fail: so the owner learns of it.
    """
    return Update(lease.key, expect=_as_owned(lease), set=attributes or {}, add={COUNTER: 1})


def set_pending(
    lease: Lease, pending: LeaseCheckpoint, batch: str, attributes: Mapping[str, Value]
) -> Update:
    """Fix the end of a *batch* before it is handed out. It is a renewal, too."""
    values = {**attributes, **pending_attributes(pending), PENDING_BATCH: batch}
    return Update(lease.key, expect=_as_owned(lease), set=values, remove=PENDING[2:], add={COUNTER: 1})


def checkpoint(
    lease: Lease,
    reached: LeaseCheckpoint,
    pending: tuple[LeaseCheckpoint, str] | None = None,
    attributes: Mapping[str, Value] | None = None,
) -> Update:
    """
    Commit all records up to *reached*. It is a renewal, too, and may fix the end of the next batch.

    Unlike a renewal it does not fail when a hand-over has begun: this is the owner's last chance to commit.
    """
    values = {**checkpoint_attributes(reached), **(attributes or {})}
    removed: tuple[str, ...] = (*PENDING, PENDING_BATCH)
    if pending is not None:
        values |= {**pending_attributes(pending[0]), PENDING_BATCH: pending[1]}
        removed = PENDING[2:]
    return Update(lease.key, expect={COUNTER: lease.counter}, set=values, remove=removed, add={COUNTER: 1})


def assign(lease: Lease, worker: str) -> Update:
    """
    Make *worker* the owner at once. A leader does it, and a worker that hands its lease over.

    The KCL does not expect the counter. With it a worker that has come back in the meantime keeps its lease, and a write that
    arrives late changes nothing.
    """
    is_switch = lease.actual_owner is not None and lease.actual_owner != worker
    return Update(
        lease.key,
        expect={**_owners(lease), COUNTER: lease.counter},
        set={LEASE_OWNER: worker},
        remove=(CHECKPOINT_OWNER, PROCESS),
        add={COUNTER: 1, **({OWNER_SWITCHES: 1} if is_switch else {})},
    )


def begin_hand_over(lease: Lease, worker: str) -> Update:
    """Make *worker* the next owner. The present one reads on until it assigns the lease. The counter stays."""
    if lease.owner is None or lease.checkpoint_owner is not None:
        raise ValueError(f"lease {lease.key} has no owner that could hand it over, or is handed over already")
    return Update(lease.key, expect=_owners(lease), set={LEASE_OWNER: worker, CHECKPOINT_OWNER: lease.owner})


def release(lease: Lease) -> Update:
    """Release the lease: to the next owner during a hand-over, else to anybody. The counter is expected as in `assign`."""
    removed = LEASE_OWNER if lease.checkpoint_owner is None else CHECKPOINT_OWNER
    expect = {**_owners(lease), COUNTER: lease.counter}
    return Update(lease.key, expect=expect, remove=(removed, PROCESS), add={COUNTER: 1})


def describe_shard(lease: Lease, values: Item) -> Update:
    """Write facts of the shard that never change. The counter stays, so the owner does not notice."""
    return Update(lease.key, expect={LEASE_KEY: lease.key}, set=values)


def add_children(lease: Lease, children: Iterable[str]) -> Update:
    """Write which shards follow the shard of *lease*, which has ended."""
    return describe_shard(lease, {"childShardIds": frozenset(children)})


def _as_owned(lease: Lease) -> dict[str, Value | None]:
    """Return the expectation that nothing has changed, but for a hand-over that the owner knows of."""
    if lease.checkpoint_owner is None:
        return {COUNTER: lease.counter, CHECKPOINT_OWNER: None}
    return {COUNTER: lease.counter}


def _owners(lease: Lease) -> dict[str, Value | None]:
    return {LEASE_KEY: lease.key, LEASE_OWNER: lease.owner, CHECKPOINT_OWNER: lease.checkpoint_owner}
