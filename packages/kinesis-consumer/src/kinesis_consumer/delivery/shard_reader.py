"""One shard of this worker: pages come in, batches with fixed ends go out, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock

from attrs import define, field

from kinesis_consumer.delivery.batch import Batch, BatchOwner
from kinesis_consumer.delivery.feed import Feed
from kinesis_consumer.delivery.memory import MemoryUse
from kinesis_consumer.delivery.page_buffer import PageBuffer
from kinesis_consumer.delivery.pages import build_batch
from kinesis_consumer.delivery.positions import Emptiness, describe_batch, describe_emptiness
from kinesis_consumer.delivery.starting import names_record, refused_position, start_of
from kinesis_consumer.delivery.waiting import Waiting
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease
from kinesis_consumer.settings import GroupSettings
from kinesis_core import InvalidRequestError, ServiceError
from kinesis_core.clock import Clock
from kinesis_core.leases import EMPTY_UNTIL, STREAM_IDENTIFIER, Item, LeaseCheckpoint
from kinesis_core.model import MIN_RETENTION_HOURS, ShardOffset
from kinesis_core.planning import ShardPage

STORE_PAUSE_S = 0.2
"""Pause after a failed write of a commit, which waits until the store is back or the lease is lost."""
MAX_PAGE_RECORDS = 10_000


@define(eq=False)
class ShardReader:
    """
    Reads the shard of a lease that this worker holds.

    `fetch` runs in one thread at a time. `next_batch` and `commit` may run beside it: only one of the two has something to do.
    """

    held: HeldLease
    stream: str
    """What the group calls the stream."""
    pages: Feed
    owner: BatchOwner
    settings: GroupSettings
    clock: Clock
    stream_id: str = ""
    """The KCL's name of the stream. A lease that does not say it gets it with the next write."""
    initial_ms: int | None = None
    """The time where a new group begins, if the user gave one."""
    memory: MemoryUse = field(factory=MemoryUse)
    """Counts the data of this reader, and of the others of its worker."""
    wake: Callable[[], None] = lambda: None
    """Called when a page can be fetched at once."""
    due_s: float = field(default=float("-inf"), init=False)
    """When the next page is due, if there is room for it."""
    _position: ShardOffset | None = field(default=None, init=False)
    size_bytes: int = field(default=0, init=False)
    """The data in memory, until the reader is closed."""
    buffer: PageBuffer = field(init=False)
    _planned: Batch | None = field(default=None, init=False)
    """A batch that was built, and whose end is not fixed yet."""
    out: Batch | None = field(default=None, init=False)
    """The batch whose end is fixed, and that is not committed."""
    failures: int = field(default=0, init=False)
    """Failed steps in a row."""
    waiting: Waiting = field(factory=Waiting, init=False)
    leaving_s: float | None = field(default=None, init=False)
    """When its worker noticed that another one is to have the lease, if so."""
    fetched_s: float = field(default=float("-inf"), init=False)
    """When the last page was read."""
    measured_s: float = field(default=float("-inf"), init=False)
    """When the lag was reported last."""
    _is_withdrawn: bool = field(default=False, init=False)
    """Whether a batch whose end is fixed is left to the next owner."""
    _arrivals: int = field(default=0, init=False)
    """How often a page arrived by itself."""
    _is_closed: bool = field(default=False, init=False)
    _kept_hours: int = field(default=MIN_RETENTION_HOURS, init=False)
    """For how many hours records are kept, at the last page."""
    _is_proven: bool = field(default=False, init=False)
    """Whether a page has shown that the position in the lease is one of this stream."""
    _lock: Lock = field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self.buffer = PageBuffer(self.settings)

    @property
    def shard_id(self) -> str:
        return self.held.lease.shard_id

    @property
    def has_begun(self) -> bool:
        """Whether a page was asked for."""
        return self._position is not None

    @property
    def has_work(self) -> bool:
        """Whether a batch can be handed out."""
        with self._lock:
            has_records = self._planned or (self.buffer.has_pages and not self.buffer.lacks_pages)
            return self.out is None and bool(has_records)

    @property
    def is_replaying(self) -> bool:
        """Whether a batch that an earlier worker did not commit is read, and not all of it is there."""
        with self._lock:
            return self.has_begun and self.buffer.lacks_pages

    @property
    def is_finished(self) -> bool:
        """Whether all records of a closed shard are committed."""
        with self._lock:
            return self.buffer.is_ended and self._is_all_committed

    @property
    def has_room(self) -> bool:
        """Whether another page may be fetched."""
        with self._lock:
            return self.buffer.has_room

    def fetch(self) -> None:
        """
        Read the next page, wherever the lease says that reading goes on.

        Raises:
            DataLossError: Records are lost, or may be (unless `fail_on_data_loss` is off).
            ServiceError: A call to Kinesis failed for good.
        """
        arrivals = self._arrivals
        page = self._next_page()
        self.fetched_s, self._kept_hours = self.clock.now_s(), self.pages.kept_hours()
        with self._lock:
            self._position = page.end.carried_over()
            self._is_proven = self._is_proven or page.is_tip or bool(page.page.records)
            self.buffer.add(page)
            self._count(page.size_bytes)
        wait_s = self.settings.fetch_interval_s if page.is_tip else 0
        due_s = self.clock.now_s() + max(wait_s, self.pages.due_s(self.shard_id))
        with self._lock:
            self.due_s = due_s if self._arrivals == arrivals else float("-inf")

    def _next_page(self) -> ShardPage:
        try:
            if self._position is None:
                self._position, self.buffer.replayed = start_of(self.held, self.pages, self.initial_ms)
            limit = min(MAX_PAGE_RECORDS, self.settings.max_batch_records)
            return self.pages.next(self.shard_id, self._position, limit)
        except InvalidRequestError as error:
            if self._is_proven or not names_record(self.held.lease):
                raise
            raise refused_position(self.held.lease, self.stream, error) from error

    def arrived(self) -> None:
        """Note that a page can be fetched at once."""
        with self._lock:
            self._arrivals += 1
            self.due_s = float("-inf")
        self.wake()

    def open(self) -> None:
        """Let pages that arrive by themselves be fetched at once."""
        self.pages.watch(self.shard_id, self.arrived)

    def close(self) -> None:
        """Read no further pages. Another reader of the shard is not affected. Idempotent."""
        with self._lock:
            self._count(-self.size_bytes)
            self._is_closed = True
        self.pages.forget(self.shard_id, self.arrived)

    def next_batch(self) -> Batch | None:
        """
        Return the next batch, once its end is fixed in the lease. None while a batch is out, or no record is there.

        Raises:
            LeaseLostError: Another worker has the lease.
            DataLossError: Records of a batch that was delivered before have expired.
            ServiceError: The store failed. Try again: the batch stays the same.
        """
        if self.out is not None or self.held.is_leaving or self._is_withdrawn:
            return None
        self._plan()
        batch, checkpoint = self._planned, self.held.lease.checkpoint
        if batch is None:
            return None
        description = describe_batch(checkpoint, batch.start, batch.end)
        if (self.held.lease.pending, self.held.lease.pending_batch) != (batch.end, description):
            self.held.set_pending((batch.end, description), self._identity())
        self.out, self._planned = batch, None
        return batch

    def commit(self, batch: Batch) -> Batch | None:
        """
        Commit *batch*. Returns the next one, if its records are there: the same write fixes its end.

        Raises:
            LeaseLostError: As in `HeldLease.checkpoint`.
            ServiceError: The store refuses the write for good.
        """
        if self.out is not batch:
            raise LeaseLostError(f"{batch!r} cannot be committed: its lease is lost.", self.shard_id)
        if not self.held.is_leaving:
            self._plan()
        following = self._planned
        self._write_patiently(batch, following)
        batch.is_committed = True
        with self._lock:
            self._count(-batch.size_bytes)
        if self.held.is_leaving:  # the next owner delivers it, or this one if the hand-over is revoked
            self.out = None
            return None
        # In this order: once no batch is out, a thread that fetches may plan the next one.
        self._planned = None
        self.out = following
        return following

    def withdraw(self) -> None:
        """
        Take back the batch that is out, because the lease is let go. No further batch goes out.

        Such a batch would take the place of this one in the lease, and the next owner would skip the records of this one.
        """
        self._is_withdrawn = True
        self.out = None

    def renewal(self) -> Item:
        """Return what a renewal says in addition: until when the shard was seen empty."""
        with self._lock:
            position, is_all_committed = self._position, self._is_all_committed
        until_ms = position.arrived_ms if position is not None and is_all_committed else None
        return {**self._identity(), **self._emptiness(self.held.lease.checkpoint, until_ms)}

    def _emptiness(self, checkpoint: LeaseCheckpoint, until_ms: int | None) -> Item:
        """Return what a lease gets of a shard without a record after *checkpoint* that arrived before *until_ms*, if that is known."""
        if until_ms is None:
            return {}
        return {EMPTY_UNTIL: describe_emptiness(checkpoint, Emptiness(until_ms, self._kept_hours))}

    def _identity(self) -> Item:
        """Return what a lease gets that does not say of which stream it is."""
        is_unsaid = self._is_proven and self.held.lease.stream is None
        return {STREAM_IDENTIFIER: self.stream_id} if is_unsaid and self.stream_id else {}

    def _count(self, size_bytes: int) -> None:
        """Count data that came, or went. Only for those that have the lock."""
        if not self._is_closed:  # a page may come afterwards
            self.size_bytes += size_bytes
            self.memory.add(size_bytes)

    def _plan(self) -> None:
        """Build the next batch from the pages that are there, if it is not built yet."""
        report_lost = partial(self.pages.report_lost, self.shard_id)
        with self._lock:
            pages = [] if self._planned is not None else self.buffer.take(report_lost)
            if pages:
                self._planned = build_batch(pages, self.stream, self.shard_id, self.owner)

    @property
    def _is_all_committed(self) -> bool:
        """Whether all records that were fetched are committed. Only for those that have the lock."""
        return not (self.buffer.has_pages or self._planned or self.out or self._is_withdrawn)

    def _write_patiently(self, batch: Batch, following: Batch | None) -> None:
        pending = None
        if following is not None:
            pending = (following.end, describe_batch(batch.end, following.start, following.end))
        stamp = {**self._identity(), **self._emptiness(batch.end, batch.ends_ms)}
        while True:
            try:
                return self.held.checkpoint(batch.end, pending, stamp)
            except ServiceError as error:
                if not error.retryable:
                    raise
            self.clock.sleep(STORE_PAUSE_S)
