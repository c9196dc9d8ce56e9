"""A lease that this worker holds: how long it is valid, and writes to it that survive lost responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import RLock

from attrs import define, field

from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import updates
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core import ServiceError, ThrottledError
from kinesis_core.clock import Clock
from kinesis_core.leases import Item, Lease, LeaseCheckpoint, LeaseItemError, Value, read_lease

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
    _unanswered: int | None = field(default=None, init=False)
    """The counter that a commit without a response expected. As long as the lease has this counter, that commit may be written."""
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

        A commit that was written counts, also if the lease was lost before that was known: no worker delivers the records again.
        `is_ours` says that the lease is lost.

        Raises:
            LeaseLostError: As for `renew`. The commit is not written, unless `may_be_committed` is true: then nobody knows.
            ServiceError: Nobody knows whether it was written. Try again.
        """
        with self._lock:
            try:
                self._write(
                    lambda lease: updates.checkpoint(lease, reached, pending, attributes), is_commit=True
                )
            except LeaseLostError:
                if self._is_written(reached):
                    return
                raise

    def _is_written(self, reached: LeaseCheckpoint) -> bool:
        """
        Return whether a commit was written before the lease was lost. Looks once more if a write of it got no response.

        Only the holder of a lease moves its checkpoint, and each change of owner grows the counter. So if the first write since then
        has reached this checkpoint, it was the commit. After more writes it may have been another worker's, which has delivered the
        batch again. A lease that stands before it proves that the commit was not made and, by its counter, that it never will be.

        Raises:
            LeaseLostError: Nobody knows.
        """
        if self.lease.checkpoint == reached or self.lease.counter != self._unanswered:
            return self.lease.checkpoint == reached
        found = self._look()
        if found is not None and (found.counter, found.checkpoint) == (self._unanswered + 1, reached):
            return True
        if found is None or found.counter == self._unanswered or found.checkpoint >= reached:
            raise self._lost_error(may_be_committed=True)
        return False

    def _look(self) -> Lease | None:
        """Return the lease as it is in the table now; None if that cannot be found out."""
        with suppress(ServiceError, LeaseItemError):
            item = self.table.get(self.key)
            return read_lease(item) if item else None
        return None

    def leave(self, to: str | None) -> bool:
        """
        Let the lease go: to the next owner if a hand-over has begun, else to the worker *to*, else to anybody.

        Returns whether that was written. If not, somebody else has changed the lease.

        Raises:
            ServiceError: Nobody knows whether it was written. The lease is to be counted as lost: if it was not written, the lease
                expires for others.
        """
        with self._lock:
            if self.lost:
                return False
            self._is_let_go = True
            if not self._left(to):
                self._adopt()  # a hand-over may have begun since the last write, or its response was lost
                if self.lost or not self._left(to):
                    self.lose("another worker has it")
                    return False
            self.lose("it was released")
            return True

    def _left(self, to: str | None) -> bool:
        is_released = self.is_leaving or to is None
        item = self.table.update(
            updates.release(self.lease) if is_released else updates.assign(self.lease, str(to))
        )
        if item is not None:
            self._keep(item)
        return item is not None

    def lose(self, reason: str) -> None:
        """Count the lease as lost."""
        self.lost = self.lost or reason

    def _write(self, make: Callable[[Lease], Update], *, is_commit: bool = False) -> None:
        with self._lock:
            for _ in range(_ATTEMPTS):
                self._check()
                sent_s = self.clock.now_s()
                try:
                    item = self.table.update(make(self.lease))
                except ServiceError as error:
                    if is_commit and not isinstance(error, ThrottledError):  # a throttled write is not made
                        self._unanswered = self.lease.counter
                    raise
                if item is not None:
                    self._expire()  # before the time of this write counts: a lease that was lost meanwhile does not come back
                    self._sent_s = sent_s
                    self._keep(item)
                    return
                self._adopt()
            self.lose("its item changes all the time")
            self._check()

    def _keep(self, item: Item) -> None:
        """Remember how the lease is after a write. Somebody else may have damaged it before: that ends the lease, and not the group."""
        try:
            self.lease = read_lease(item)
        except LeaseItemError as error:
            self.lose(str(error))

    def _expire(self) -> None:
        if not self.lost and self.clock.now_s() >= self.valid_until_s:
            self.lose(f"it could not be renewed for {self.duration_s:g} s")

    def _check(self) -> None:
        self._expire()
        if self.lost:
            raise self._lost_error()

    def _lost_error(self, *, may_be_committed: bool = False) -> LeaseLostError:
        return LeaseLostError(
            f"The lease of {self.key} is lost: {self.lost}.",
            self.lease.shard_id,
            may_be_committed=may_be_committed,
        )

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
        else:
            self.lease = found
