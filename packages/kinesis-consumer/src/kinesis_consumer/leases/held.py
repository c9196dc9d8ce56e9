"""A lease that this worker holds: how long it is valid, and writes to it that survive lost responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock

from attrs import define, field

from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import updates
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.clock import Clock
from kinesis_core.leases import Lease, LeaseCheckpoint, LeaseItemError, Value, read_lease

_ATTEMPTS = 3
"""One write may meet a response that was lost, and then a hand-over that began meanwhile."""
Batch = tuple[LeaseCheckpoint, str]
"""The end of a batch, and its description."""


@define(eq=False)
class HeldLease:
    """
    One lease of this worker. Threads may share it.

    It is valid for the lease duration, counted by this process's clock from when the last successful write was *sent*. Other
    workers count from when they saw that write, which is later. So this worker stops before another one may begin.
    """

    lease: Lease
    worker: str
    table: ItemTable
    clock: Clock
    duration_s: float
    _sent_s: float
    """When the write that proves the ownership was sent."""
    lost: str = field(default="", init=False)
    """Why the lease is lost; empty while it is held."""
    _is_let_go: bool = field(default=False, init=False)
    """Whether the write that lets the lease go was sent: the next owner may begin before this worker has the response."""
    _lock: RLock = field(factory=RLock, init=False)

    @property
    def key(self) -> str:
        return self.lease.key

    @property
    def is_ours(self) -> bool:
        """Whether no other worker can have the lease now. Once it is false, it stays so."""
        return not self._is_let_go and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether this worker is done with the lease. Once it is true, it stays so."""
        self._expire()
        return bool(self.lost)

    @property
    def valid_until_s(self) -> float:
        return self._sent_s + self.duration_s

    @property
    def renewed_s(self) -> float:
        """When the last successful write was sent. Each write is a renewal."""
        return self._sent_s

    @property
    def is_leaving(self) -> bool:
        """Whether another worker is to have the lease once this one lets it go."""
        return self.lease.checkpoint_owner == self.worker and self.lease.owner != self.worker

    def renew(self, attributes: Mapping[str, Value] | None = None) -> None:
        """
        Show other workers that this one is alive.

        Raises:
            LeaseLostError: Another worker has the lease, or it is no longer valid.
            ServiceError: The store failed. Try again.
        """
        self._write(lambda lease: updates.renew(lease, attributes))
        self._check()  # the response may have come too late

    def set_pending(self, batch: Batch, attributes: Mapping[str, Value]) -> None:
        """
        Fix the end of a batch before it is handed out.

        Raises:
            LeaseLostError, ServiceError: As for `renew`.
        """
        self._write(lambda lease: updates.set_pending(lease, *batch, attributes))
        self._check()  # as above: the batch must not go out then

    def checkpoint(
        self, reached: LeaseCheckpoint, pending: Batch | None, attributes: Mapping[str, Value]
    ) -> None:
        """
        Commit all records up to *reached*, and fix the end of the next batch if there is one.

        A commit that was written counts, also if the lease expired before the response came: no worker delivers the records again.
        The lease is lost then, and `is_ours` says so.

        Raises:
            LeaseLostError, ServiceError: As for `renew`.
        """
        self._write(lambda lease: updates.checkpoint(lease, reached, pending, attributes))

    def leave(self, to: str | None) -> bool:
        """
        Let the lease go: to the next owner if a hand-over has begun, else to the worker *to*, else to anybody.

        Returns whether that was written. If not, somebody else has changed the lease.

        Raises:
            ServiceError: The store failed. The lease is to be counted as lost: it expires for others.
        """
        with self._lock:
            if self.lost:
                return False
            self._is_let_go = True
            if not self._left(to):
                self._adopt()  # a hand-over may have begun since the last write
                if self.lost or not self._left(to):
                    self.lose("another worker has it")
                    return False
            self.lose("it was released")
            return True

    def _left(self, to: str | None) -> bool:
        is_released = self.is_leaving or to is None
        update = updates.release(self.lease) if is_released else updates.assign(self.lease, str(to))
        return self.table.update(update) is not None

    def lose(self, reason: str) -> None:
        """Count the lease as lost."""
        self.lost = self.lost or reason

    def _write(self, make: Callable[[Lease], Update]) -> None:
        with self._lock:
            for _ in range(_ATTEMPTS):
                self._check()
                sent_s = self.clock.now_s()
                item = self.table.update(make(self.lease))
                if item is not None:
                    self._expire()  # before the time of this write counts: a lease that was lost meanwhile does not come back
                    self.lease, self._sent_s = read_lease(item), sent_s
                    return
                self._adopt()
            self.lose("its item changes all the time")
            self._check()

    def _expire(self) -> None:
        if not self.lost and self.clock.now_s() >= self.valid_until_s:
            self.lose(f"it could not be renewed for {self.duration_s:g} s")

    def _check(self) -> None:
        self._expire()
        if self.lost:
            raise LeaseLostError(f"The lease of {self.key} is lost: {self.lost}.", self.lease.shard_id)

    def _adopt(self) -> None:
        """
        Read why a condition failed, and go on where the lease is still ours.

        The counter has not moved: a hand-over has begun. It has moved by one: an earlier write of ours was made, and its response
        was lost. Anything else was written by others.
        """
        item = self.table.get(self.key)
        if item is None:
            self.lose("it was deleted")
            return
        try:
            found = read_lease(item)
        except LeaseItemError as error:
            self.lose(str(error))
            return
        if found.actual_owner != self.worker:
            self.lose(f"worker {found.actual_owner or 'nobody'} has it")
        elif found.counter - self.lease.counter not in (0, 1):
            self.lose("another worker has had it")
        self.lease = found
