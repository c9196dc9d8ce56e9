"""Changes of leases, and their conditions: nothing else may have changed a lease since it was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

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
    LeaseTable,
    Value,
    checkpoint_attributes,
    update_request,
)

_COUNTER, _CHECKPOINT_OWNER = "leaseCounter", "checkpointOwner"


@frozen
class Change:
    """A write to one lease. It grows the counter, so that an owner that runs notices it."""

    lease: Lease
    expect: Mapping[str, Value | None]
    set: Mapping[str, Value] = field(factory=dict)
    remove: tuple[str, ...] = ()
    checkpoint: LeaseCheckpoint | None = None
    """The new one, if it changes."""

    def request(self) -> dict[str, Any]:
        """Return the parameters of UpdateItem."""
        return update_request(self.expect, self.set, self.remove, {_COUNTER: 1})


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


def apply(table: LeaseTable, changes: Iterable[Change]) -> list[Lease]:
    """
    Write all *changes*. Return the leases that another program has changed since they were read: they stay as they are.

    Raises:
        ServiceError: DynamoDB refuses. The changes before are written.
    """
    return [change.lease for change in changes if not _is_written(table, change)]


def _is_written(table: LeaseTable, change: Change) -> bool:
    key = {LEASE_KEY: {"S": change.lease.key}}
    response = table.call_if_met(
        "UpdateItem",
        lambda: table.client.update_item(TableName=table.name, Key=key, **change.request()),
        lease=change.lease.key,
    )
    return response is not None
