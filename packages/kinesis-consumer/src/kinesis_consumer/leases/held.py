"""A lease that this worker holds: how long it is valid, and writes to it that survive lost responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from threading import RLock

from attrs import define, field

from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import life, updates
from kinesis_consumer.leases.life import HandingOver, Held, LeaseState, Lost
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core import ServiceError, ThrottledError
from kinesis_core.clock import Clock
from kinesis_core.leases import Item, Lease, LeaseCheckpoint, LeaseItemError, Value, read_lease

_ATTEMPTS = 3
"""For one write, a response may be lost, and a hand-over may have begun since then."""
DescribedEnd = tuple[LeaseCheckpoint, str]
"""The end of a batch, and its description."""


@define(eq=False)
class HeldLease:
    """
    One lease of this worker. Threads may share it.

    It is valid for the lease duration, counted by this process's clock from when the last successful write was *sent*. Other
    workers count from when they saw that write, which is later. So this worker stops before another one may begin.

    Its lock is the lock of its shard, which the reader of the shard uses, too. Writes are made one at a time, each in a turn. The
    lock is free during a write, so a thread that only reads the state of a shard never waits for a store.
    """

    _state: LeaseState
    worker: str
    table: ItemTable
    clock: Clock
    duration_s: float
    lock: AbstractContextManager[object] = field(factory=RLock, init=False)
    turn: AbstractContextManager[object] = field(factory=RLock, init=False)
    """Is held by the thread that writes the lease, also during the call. It is taken before the lock."""

    @staticmethod
    def of(
        lease: Lease, worker: str, table: ItemTable, clock: Clock, duration_s: float, sent_s: float
    ) -> HeldLease:
        """Return *lease*, which *worker* has since a write that was sent at *sent_s*."""
        return HeldLease(life.known(Held(lease, sent_s), lease, worker), worker, table, clock, duration_s)

    @property
    def state(self) -> LeaseState:
        """The state at this moment."""
        state = self._state  # without the lock: most looks find a lease that is valid
        if self.clock.now_s() < state.sent_s + self.duration_s:
            return state
        return self._become(lambda state: state)

    @property
    def lease(self) -> Lease:
        """The lease as this worker knows it."""
        return self._state.lease

    @property
    def key(self) -> str:
        return self.lease.key

    @property
    def renewed_s(self) -> float:
        """When the last successful write was sent. Each write is a renewal."""
        return self._state.sent_s

    @property
    def is_ours(self) -> bool:
        """Whether no other worker can have the lease now. Once it is false, it stays so."""
        return life.is_ours(self.state)

    @property
    def is_over(self) -> bool:
        """Whether this worker is done with the lease: it is released or lost. Once it is true, it stays so."""
        return life.is_over(self.state)

    @property
    def is_handing_over(self) -> bool:
        """Whether another worker waits for the lease."""
        return isinstance(self.state, HandingOver)

    @property
    def reason(self) -> str:
        """Why the lease is released or lost."""
        return self._state.reason if life.is_over(self._state) else ""

    def renew(self, attributes: Mapping[str, Value] | None = None) -> None:
        """
        Show other workers that this one is alive.

        Raises:
            LeaseLostError: Another worker has the lease, or it is no longer valid.
            ServiceError: The store failed. Try again.
        """
        with self.turn:
            self._write(lambda lease: updates.renew(lease, attributes))
        self._verify()  # the response may have come too late

    def set_pending(self, batch: DescribedEnd, attributes: Mapping[str, Value]) -> None:
        """
        Fix the end of a batch before it is handed out.

        Raises:
            LeaseLostError, ServiceError: As for `renew`.
        """
        with self.turn:
            self._write(lambda lease: updates.set_pending(lease, *batch, attributes))
        self._verify()  # as above: the batch must not go out then

    def checkpoint(
        self, reached: LeaseCheckpoint, pending: DescribedEnd | None, attributes: Mapping[str, Value]
    ) -> None:
        """
        Commit all records up to *reached*, and fix the end of the next batch if there is one.

        A commit that was written counts, even if the lease was lost before that was known: no worker delivers the records again.
        `is_ours` says that the lease is lost.

        Raises:
            LeaseLostError: As for `renew`. The commit is not written. If `may_be_committed` is true, this is unknown.
            ServiceError: Nobody knows whether it was written. Try again.
        """
        with self.turn:
            try:
                self._write(
                    lambda lease: updates.checkpoint(lease, reached, pending, attributes), is_commit=True
                )
            except LeaseLostError as error:
                is_written = life.is_committed(self._state, reached)
                if is_written is None:
                    is_written = life.was_committed(self._state, reached, self._look())
                if is_written is None:
                    raise self._lost_error(may_be_committed=True) from error
                if not is_written:
                    raise

    def release(self, to: str | None) -> bool:
        """
        Release the lease: to the next owner if a hand-over has begun, else to the worker *to*, else to anybody.

        Returns whether that was written. If not, another process has changed the lease.

        Raises:
            ServiceError: Nobody knows whether it was written. The lease must count as lost: if it was not
                written, the lease expires for others.
        """
        with self.turn:
            if life.is_over(self._become(life.begin_release)):
                return False
            if self._released(to):
                return True
            self._adopt()  # a hand-over may have begun since the last write, or its response was lost
            is_released = not isinstance(self._state, Lost) and self._released(to)
            if not is_released:
                self.lose("another worker has it")
            return is_released

    def begin_release(self) -> None:
        """Note that the write that releases the lease is about to be sent."""
        self._become(life.begin_release)

    def ask(self, now_s: float) -> bool:
        """Note that the program is asked to finish, because another worker waits for the lease. Returns False if it was before."""
        with self.lock:
            before = self.state
            return self._become(lambda state: life.ask(state, now_s)) is not before

    def lose(self, reason: str) -> None:
        """Count the lease as lost."""
        self._become(lambda state: life.lose(state, reason))

    def _become(self, transition: Callable[[LeaseState], LeaseState]) -> LeaseState:
        """Let the lease be in another state. It expires first: a lease that was lost in the meantime does not come back."""
        with self.lock:
            self._state = transition(life.expire(self._state, self.clock.now_s(), self.duration_s))
            return self._state

    def _write(self, make: Callable[[Lease], Update], *, is_commit: bool = False) -> None:
        for _ in range(_ATTEMPTS):
            self._verify()
            sent_s = self.clock.now_s()
            try:
                item = self.table.update(make(self.lease))
            except ServiceError as error:
                if is_commit and not isinstance(error, ThrottledError):  # a throttled write is not made
                    self._become(life.unanswered)
                raise
            if item is not None:
                self._keep(item, life.written, self.worker, sent_s)
                return
            self._adopt()
        self.lose("its item changes all the time")
        self._verify()

    def _released(self, to: str | None) -> bool:
        lease = self.lease
        is_handed_over = lease.checkpoint_owner == self.worker != lease.owner
        item = self.table.update(
            updates.release(lease) if is_handed_over or to is None else updates.assign(lease, to)
        )
        if item is not None:
            self._keep(item, life.end_release)
        return item is not None

    def _adopt(self) -> None:
        """Read why a condition failed, and continue if the lease is still ours."""
        item = self.table.get(self.key)
        if item is None:
            self.lose("it was deleted")
        else:
            self._keep(item, life.found, self.worker)

    def _keep(self, item: Item, transition: Callable[..., LeaseState], *more: object) -> None:
        """Remember how the lease is now. Somebody else may have damaged it: that ends the lease, and not the group."""
        try:
            lease = read_lease(item)
        except LeaseItemError as error:
            self.lose(str(error))
        else:
            self._become(lambda state: transition(state, lease, *more))

    def _look(self) -> Lease | None:
        """Return the lease as it is in the table now; None if that cannot be found out."""
        with suppress(ServiceError, LeaseItemError):
            item = self.table.get(self.key)
            return read_lease(item) if item else None
        return None

    def _verify(self) -> None:
        if self.is_over:
            raise self._lost_error()

    def _lost_error(self, *, may_be_committed: bool = False) -> LeaseLostError:
        return LeaseLostError(
            f"The lease of {self.key} is lost: {self.reason}.",
            self.lease.shard_id,
            may_be_committed=may_be_committed,
        )
