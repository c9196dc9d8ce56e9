"""One shard of this worker: pages come in, batches with fixed ends go out, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, evolve, field, frozen

from kinesis_consumer.delivery.batch import Batch
from kinesis_consumer.delivery.pace import Pace
from kinesis_consumer.delivery.page_buffer import PageBuffer, build_batch
from kinesis_consumer.delivery.starting import names_record, refused_position, start_of
from kinesis_consumer.delivery.streams import GroupStream
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease, LeaseEmptiness, describe_batch, describe_emptiness, life
from kinesis_consumer.settings import GroupSettings
from kinesis_core import InvalidRequestError, ServiceError
from kinesis_core.budget import IN_FLIGHT, LARGEST_BODY, ByteBudget, ByteShare, NoRoomError, receiving
from kinesis_core.clock import Clock
from kinesis_core.leases import EMPTY_UNTIL, STREAM_IDENTIFIER, Item, LeaseCheckpoint, commit_time
from kinesis_core.model import MAX_PAGE_RECORDS, MIN_RETENTION_HOURS, ShardOffset
from kinesis_core.planning import ShardPage

RECORD_BYTES = 300
"""What a record takes in Python beside its data: five objects, among them a sequence number of 56 characters."""
STORE_PAUSE_S = 0.2
"""Pause after a failed write of a commit, which waits until the store is back or the lease is lost."""


@frozen
class Reached:
    """What the pages of a shard have shown."""

    position: ShardOffset | None = None
    """Where the next page begins; None before the first one is asked for."""
    fetched_s: float = float("-inf")
    """When the last page was read."""
    kept_hours: int = MIN_RETENTION_HOURS
    """For how many hours records are kept."""
    is_proven: bool = False
    """Whether a page has shown that the position in the lease is one of this stream."""


@define(eq=False)
class ShardReader:
    """
    Reads the shard of a lease that this worker holds.

    `fetch` and `fix_next` run in one thread at a time, `take` and `commit` beside them. What changes is a value that is replaced under
    the lock of the lease.
    """

    held: HeldLease
    source: GroupStream
    commit_with: Callable[[ShardReader, Batch], object]
    """Commits a batch of this reader, as its worker does."""
    settings: GroupSettings
    clock: Clock
    memory: ByteBudget
    """What this reader and the others of its worker may have in memory."""
    wake: Callable[[], None] = lambda: None
    """Called when a page can be fetched at once."""
    buffer: PageBuffer = field(init=False)
    hand: life.Hand[Batch] = field(factory=life.Empty, init=False)
    """The batch in hand."""
    reached: Reached = field(factory=Reached, init=False)
    pace: Pace = field(factory=Pace, init=False)
    call: ByteShare = field(init=False)
    """The memory of the call under way."""
    kept: ByteShare = field(init=False)
    """The memory of the pages, and of the batch in hand, until the reader is closed."""
    refused_bytes: int = field(default=0, init=False)
    """What the last call needed, if there was no room for it."""

    def __attrs_post_init__(self) -> None:
        self.buffer = PageBuffer(self.settings)
        # A thread that waited for room could be the one that hands out what fills it. A batch that stays open must not fill all.
        unknown_bytes = min(LARGEST_BODY, self.memory.limit_bytes // (2 * IN_FLIGHT))
        self.call = self.memory.share(1, patience_s=0, reserve_s=0, unknown_bytes=unknown_bytes)
        self.kept = self.memory.share()

    @property
    def key(self) -> str:
        """The key of the lease."""
        return self.held.key

    @property
    def stream(self) -> str:
        """What the group calls the stream."""
        return self.source.name

    @property
    def shard_id(self) -> str:
        return self.held.lease.shard_id

    @property
    def has_begun(self) -> bool:
        """Whether a page was asked for."""
        return self.reached.position is not None

    @property
    def has_work(self) -> bool:
        """Whether a batch can be handed out."""
        with self.held.lock:
            has_pages = self.buffer.has_pages and not self.buffer.lacks_pages
            return isinstance(self.hand, life.Planned) or (isinstance(self.hand, life.Empty) and has_pages)

    @property
    def is_replaying(self) -> bool:
        """Whether a batch that an earlier worker did not commit is read, and not all of it is there."""
        with self.held.lock:
            return self.has_begun and self.buffer.lacks_pages

    @property
    def is_finished(self) -> bool:
        """Whether all records of a closed shard are committed."""
        with self.held.lock:
            return self.buffer.is_ended and self._is_all_committed

    def finds_room(self, taken_bytes: int = 0) -> bool:
        """Return whether there is room in the memory for a call, once others have taken so much of it."""
        needed_bytes = max(1, self.refused_bytes)
        if taken_bytes:  # a page that is larger than the limit is read alone
            return self.memory.used_bytes + taken_bytes + needed_bytes <= self.memory.limit_bytes
        return self.memory.has_room(self.call.number, needed_bytes)

    @property
    def has_room(self) -> bool:
        """Whether another page may be fetched."""
        with self.held.lock:
            return self.buffer.has_room

    def is_ours(self, batch: Batch) -> bool:
        """Return whether *batch* is out, and no other worker can have the shard."""
        with self.held.lock:
            return life.is_out(self.hand, batch) and self.held.is_ours

    def fetch(self) -> None:
        """
        Read the next page after the position in the lease, or after the page before.

        Raises:
            DataLossError: Records are lost, or may be (unless `fail_on_data_loss` is off).
            ServiceError: A call to Kinesis failed after its retries.
            NoRoomError: There is no room for the response. A batch that was delivered before is read nevertheless: a part of it cannot be
                handed out, and would stay in memory for ever.
        """
        try:
            with receiving(None if self.is_replaying else self.call):
                self._fetch()
            self.refused_bytes = 0
        except NoRoomError as error:
            self.refused_bytes = IN_FLIGHT * error.body_bytes
            raise
        finally:
            self.call.release()

    def _fetch(self) -> None:
        arrivals = self.pace.arrivals
        page = self._next_page()
        fetched_s, kept_hours = self.clock.now_s(), self.source.pages.kept_hours()
        with self.held.lock:
            if isinstance(self.hand, life.Withdrawn):
                return
            is_proven = self.reached.is_proven or page.is_tip or bool(page.page.records)
            self.reached = Reached(page.end.carried_over(), fetched_s, kept_hours, is_proven)
            self.buffer.add(page)
            self._keep(page.size_bytes, len(page.page.records))
        wait_s = self.settings.fetch_interval_s if page.is_tip else 0
        due_s = self.clock.now_s() + max(wait_s, self.source.feed.due_s(self.shard_id))
        self.go_on(lambda pace: pace.fetch(arrivals, due_s))

    def _keep(self, data_bytes: int, records: int) -> None:
        """Count records that came; negative numbers if they go."""
        self.kept.hold(self.kept.size_bytes + data_bytes + RECORD_BYTES * records)

    def _next_page(self) -> ShardPage:
        try:
            position = self.reached.position
            if position is None:
                # A search may take many small pages, and would start again each time that there is no room.
                with receiving(None):
                    position, self.buffer.replayed = start_of(self.held, self.source)
                self.reached = evolve(self.reached, position=position)
            limit = min(MAX_PAGE_RECORDS, self.settings.max_batch_records)
            return self.source.feed.next(self.shard_id, position, limit)
        except InvalidRequestError as error:
            if self.reached.is_proven or not names_record(self.held.lease):
                raise
            raise refused_position(self.held.lease, self.stream, error) from error

    def go_on(self, change: Callable[[Pace], Pace]) -> Pace:
        """Change when the next step is due."""
        with self.held.lock:
            self.pace = change(self.pace)
            return self.pace

    def arrived(self) -> None:
        """Note that a page can be fetched at once."""
        self.go_on(Pace.arrive)
        self.wake()

    def open(self) -> None:
        """Let pages that arrive by themselves be fetched at once."""
        self.source.feed.watch(self.shard_id, self.arrived)

    def close(self) -> None:
        """Read no further pages, and let no batch go out. Another reader of the shard is not affected. Idempotent."""
        with self.held.lock:
            self.hand = life.Withdrawn()
            self.kept.release()
        self.source.feed.forget(self.shard_id, self.arrived)

    def fix_next(self) -> bool:
        """
        Fix the end of the next batch in the lease. Returns whether it was, so that the batch waits for the program.

        Raises:
            LeaseLostError: Another worker has the lease.
            DataLossError: Records of a batch that was delivered before have expired.
            ServiceError: The store failed. Try again: the batch stays the same.
        """
        if self.held.is_handing_over or isinstance(self.hand, life.Out):
            return False
        hand = self._plan()
        if not isinstance(hand, life.Planned):
            return False
        batch, lease = hand.batch, self.held.lease
        description = describe_batch(lease.checkpoint, batch.start, batch.end)
        if (lease.pending, lease.pending_batch) != (batch.end, description):
            self.held.set_pending((batch.end, description), self._identity())
        with self.held.lock:
            self.hand = life.fix(self.hand)
            return isinstance(self.hand, life.Ready)

    def take(self) -> Batch | None:
        """Return the batch that waits for the program; None if there is none."""
        with self.held.lock:
            before, self.hand = self.hand, life.take(self.hand, self.held.state)
            return self.hand.batch if isinstance(self.hand, life.Out) and self.hand is not before else None

    def commit(self, batch: Batch) -> None:
        """Commit *batch* for the program, as its worker does."""
        self.commit_with(self, batch)

    def write_commit(self, batch: Batch) -> bool:
        """
        Commit *batch*. If the records of the next one are there, the same write fixes its end, and it waits for the program.

        While the store fails, this waits as long as the lease is valid. Returns False if another thread was first.

        Raises:
            LeaseLostError: As in `HeldLease.checkpoint`.
            ServiceError: The store refuses the write, and a retry would not help.
        """
        while True:
            try:
                with self.held.turn:
                    return self._write_commit(batch)
            except ServiceError as error:
                if not error.retryable:
                    raise
            self.clock.sleep(STORE_PAUSE_S)

    def _write_commit(self, batch: Batch) -> bool:
        if batch.is_committed:
            return False
        if self.held.is_ours and not life.is_out(self.hand, batch):
            raise LeaseLostError(f"{batch!r} cannot be committed: its lease is lost.", self.shard_id)
        hand = self.hand if self.held.is_handing_over else self._plan()
        following, pending = hand.following if isinstance(hand, life.Out) else None, None
        if following is not None:
            pending = (following.end, describe_batch(batch.end, following.start, following.end))
        stamp = {
            **self._identity(),
            **self._emptiness(batch.end, batch.ends_ms),
            **commit_time(batch.end, self.source.api.now_ms()),
        }
        try:
            self.held.checkpoint(batch.end, pending, stamp)
        except BaseException as error:
            batch.may_be_committed = not isinstance(error, LeaseLostError) or error.may_be_committed
            raise
        with self.held.lock:
            batch.is_committed, batch.may_be_committed = True, False
            if life.is_out(self.hand, batch):  # else the reader is closed
                self._keep(-batch.size_bytes, -batch.record_count)
            self.hand = life.end_commit(self.hand, self.held.state)
        return True

    def begin_release(self, *, only_idle: bool) -> bool:
        """
        Let no batch go out any more, because the lease is about to be released. Call it in a turn of the lease.

        Returns False with *only_idle* if the program has a batch: then nothing has changed.
        """
        with self.held.lock:
            if not life.may_release(self.hand, only_idle=only_idle):
                return False
            self.hand = life.Withdrawn()
            self.held.begin_release()
            return True

    def renewal(self) -> Item:
        """Return what a renewal says in addition: until when the shard was seen empty."""
        with self.held.lock:
            position = self.reached.position if self._is_all_committed else None
        until_ms = None if position is None else position.arrived_ms
        return {**self._identity(), **self._emptiness(self.held.lease.checkpoint, until_ms)}

    def _emptiness(self, checkpoint: LeaseCheckpoint, until_ms: int | None) -> Item:
        """Return what a lease gets of a shard without a record after *checkpoint* that arrived before *until_ms*, if that is known."""
        if until_ms is None:
            return {}
        return {
            EMPTY_UNTIL: describe_emptiness(checkpoint, LeaseEmptiness(until_ms, self.reached.kept_hours))
        }

    def _identity(self) -> Item:
        """Return what is added to a lease that does not name its stream."""
        is_unsaid = self.reached.is_proven and self.held.lease.stream is None
        return {STREAM_IDENTIFIER: self.source.stream_id} if is_unsaid and self.source.stream_id else {}

    def _plan(self) -> life.Hand[Batch]:
        """Build the next batch from the pages that are there, if it is not built yet. Returns the current batch then."""
        with self.held.lock:
            if life.can_plan(self.hand):
                pages = self.buffer.take(partial(self.source.pages.report_lost, self.shard_id))
                if pages:
                    self.hand = life.plan(self.hand, build_batch(pages, self.stream, self.shard_id, self))
            return self.hand

    @property
    def _is_all_committed(self) -> bool:
        """Whether all records that were fetched are committed. Only for those that have the lock."""
        return isinstance(self.hand, life.Empty) and not self.buffer.has_pages
