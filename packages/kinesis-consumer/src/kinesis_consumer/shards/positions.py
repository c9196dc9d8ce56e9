"""Where a group begins to read: the words of the KCL for it, and the exact time that this project adds."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from kinesis_core.leases import AT_TIMESTAMP, LATEST, OLDEST, Lease, LeaseCheckpoint
from kinesis_core.model import AtTimestamp, Latest, Shard, TrimHorizon

InitialPosition = TrimHorizon | Latest | AtTimestamp


@frozen
class LeaseStart:
    """Where the shard of a new lease is read from."""

    checkpoint: LeaseCheckpoint
    starting_ms: int | None = None
    """The time that LATEST or AT_TIMESTAMP means, in milliseconds since the epoch."""

    def lease(self, shard: Shard, stream_id: str | None) -> Lease:
        """Return a new lease of *shard*."""
        return Lease(
            shard.shard_id,
            self.checkpoint,
            stream_id,
            parents=shard.parents,
            hash_range=(shard.hash_start, shard.hash_end),
            starting_ms=self.starting_ms,
        )


FROM_OLDEST = LeaseStart(OLDEST)
"""From the oldest record: where a shard starts whose parents were read."""


def start_at(position: InitialPosition, now_ms: int, began_ms: int | None = None) -> LeaseStart:
    """
    Return where the shards start that a group finds first.

    LATEST gets the time as well: *began_ms*, when the group began, or now. So no record is missed that is put after that and
    before the shard is read.
    """
    match position:
        case TrimHorizon():
            return FROM_OLDEST
        case Latest():
            return LeaseStart(LeaseCheckpoint(LATEST), now_ms if began_ms is None else min(began_ms, now_ms))
        case AtTimestamp(epoch_ms):
            return LeaseStart(LeaseCheckpoint(AT_TIMESTAMP), epoch_ms)


def find_beginning_ms(leases: Iterable[Lease]) -> int | None:
    """Return the time at which the group began, as far as its leases say it."""
    return min((lease.starting_ms for lease in leases if lease.starting_ms is not None), default=None)


def start_of_children(lease: Lease) -> LeaseStart:
    """
    Return where the children of the shard of *lease* start, once it has ended: at their oldest record.

    A shard that had no record since the time at which it started may have ended before that time. Then its children start at that
    time, too.
    """
    if lease.checkpoint.number == AT_TIMESTAMP and lease.starting_ms is not None:
        return LeaseStart(lease.checkpoint, lease.starting_ms)
    return FROM_OLDEST
