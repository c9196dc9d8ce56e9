"""How a worker lets leases go: it hands them over, gives them to others when it leaves, and drops those that are lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from attrs import define

from kinesis_consumer.delivery import ShardReader
from kinesis_consumer.leases import HeldLease
from kinesis_consumer.worker.callbacks import Callbacks
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@define(eq=False)
class LeaseReleaser:
    """Lets leases of one worker go. Thread-safe: a lease is let go, and reported, once."""

    worker: str
    shards: HeldShards
    clock: Clock
    callbacks: Callbacks
    hand_over_timeout_s: float

    def hand_over(self, reader: ShardReader) -> None:
        """Let a lease go that another worker is to have: once no batch is in hand, or after a while."""
        now_s = self.clock.now_s()
        if reader.leaving_s is None:
            reader.leaving_s = now_s
            self.shards.withdraw(reader)
            lease = reader.held.lease
            log.info("handover.requested", lease=lease.key, worker=self.worker, next=lease.owner or "nobody")
            self.callbacks.hand_over_requested(reader.stream, reader.shard_id)
        if reader.out is None or now_s - reader.leaving_s >= self.hand_over_timeout_s:
            self.release(reader)

    def hand_over_finished(self, held: HeldLease) -> None:
        """Let the lease of a finished shard go."""
        _left(held, None)
        self.shards.forget(held.key)

    def leave(self, assigned: Iterable[HeldLease], loads: Mapping[str, int], *, only_idle: bool) -> None:
        """
        Let leases go at once: to other workers, of which each has as many shards as *loads* says, or to anybody.

        *assigned* are those that were not taken up. With *only_idle*, those stay whose batch is in hand. Otherwise such batches are
        dropped: another worker delivers them again.
        """
        loads, released = dict(loads), []
        with suppress(ServiceError):
            for found in assigned:
                to = _least_loaded(loads)
                if _left(found, to) and to is not None:
                    loads[to] += 1
        for reader in self.shards.readers():
            self.shards.withdraw(reader)
            if only_idle and reader.out is not None:
                continue
            to = _least_loaded(loads)
            if self._released(reader, to):
                released.append(reader)
            if to is not None:
                loads[to] += 1
        for held in self.shards.finished():
            self.hand_over_finished(held)
        for reader in released:  # now: a callback may raise, and no lease must be kept because of that
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def release(self, reader: ShardReader) -> None:
        """Let a lease go: to the worker that is to have it, or to anybody."""
        if self._released(reader, None):
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def drop(self, reader: ShardReader) -> None:
        """Read a shard no longer whose lease is lost."""
        if self.shards.remove(reader):
            log.info("lease.lost", lease=reader.held.key, worker=self.worker, reason=reader.held.lost)
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def _released(self, reader: ShardReader, to: str | None) -> bool:
        held = reader.held
        is_left = _left(held, to)
        is_removed = self.shards.remove(reader)
        if is_removed and is_left:
            log.info("lease.released", lease=held.key, worker=self.worker, next=held.lease.owner or "nobody")
        elif is_removed:
            log.info("lease.lost", lease=held.key, worker=self.worker, reason=held.lost)
        return is_removed


def _left(held: HeldLease, to: str | None) -> bool:
    """Let a lease go. Returns whether that is known to be written. If it was not, the lease expires."""
    try:
        return held.leave(to)
    except ServiceError as error:
        log.warning("release.failed", lease=held.key, code=error.code, reason=str(error))
        held.lose("the store failed when it was released")
        return False


def _least_loaded(loads: Mapping[str, int]) -> str | None:
    return min(loads, key=lambda worker: (loads[worker], worker), default=None)
