"""Changes of leases, and their conditions: nothing else may have changed a lease since it was read."""

from __future__ import annotations

from collections.abc import Iterable

from kinesis_cli.lease_stores import Change, LeaseStore
from kinesis_core.leases import (
    EMPTY_UNTIL,
    LEASE_KEY,
    LEASE_OWNER,
    PENDING,
    PENDING_BATCH,
    PROCESS,
    STARTING_TIME,
    Lease,
    LeaseCheckpoint,
    checkpoint_attributes,
)

_COUNTER, _CHECKPOINT_OWNER = "leaseCounter", "checkpointOwner"


def reset(lease: Lease, checkpoint: LeaseCheckpoint) -> Change:
    """
    Return the change that makes the next owner of *lease* continue from *checkpoint*. It is free afterwards.

    An owner that runs would take a counter that is one higher for its own renewal, whose response was lost, and continue.

    The change also removes what belongs to the old checkpoint: a checkpoint in two phases, a batch that was handed out, and two
    times.
    """
    return Change(
        lease,
        {_COUNTER: lease.counter},
        checkpoint_attributes(checkpoint),
        (LEASE_OWNER, _CHECKPOINT_OWNER, *PENDING, PENDING_BATCH, EMPTY_UNTIL, STARTING_TIME, PROCESS),
        checkpoint,
    )


def release(lease: Lease) -> Change:
    """Return the change that takes *lease* from its owner: for the next one during a hand-over, else for anybody."""
    removed = LEASE_OWNER if lease.checkpoint_owner is None else _CHECKPOINT_OWNER
    expect = {LEASE_KEY: lease.key, LEASE_OWNER: lease.owner, _CHECKPOINT_OWNER: lease.checkpoint_owner}
    return Change(lease, {**expect, _COUNTER: lease.counter}, remove=(removed, PROCESS))


def apply(table: LeaseStore, changes: Iterable[Change]) -> list[Lease]:
    """
    Write all *changes*. Return the leases that another program has changed since they were read: they stay as they are.

    Raises:
        ServiceError: The store refuses. The changes before are written.
    """
    return [each.lease for each in changes if not table.update(each)]
