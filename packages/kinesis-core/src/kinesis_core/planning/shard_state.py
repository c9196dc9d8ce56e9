"""ShardState: reads one shard for the planner, and keeps what the next plan needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from attrs import define, field, frozen

from kinesis_core.clock import Clock
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    Page,
    Record,
    ShardOffset,
    TrimHorizon,
    data_bytes,
    drop_before,
)
from kinesis_core.planning.evidence import Emptiness, Evidence
from kinesis_core.planning.loss import Doubt
from kinesis_core.planning.progress import (
    AfterLoss,
    InGap,
    Progress,
    Unknown,
    after_page,
    in_doubt,
    is_ended,
    is_stuck,
    lag_of,
    reading,
    reads_from,
    stalled_pages,
)
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shares import Sampling
from kinesis_core.shards import (
    STALLED_PAGES,
    VISIT_PAGES,
    Cursor,
    Expired,
    Left,
    Look,
    Passed,
    Search,
    ShardCalls,
    Stall,
    Standing,
    Unseen,
    await_record,
)

RECORD_BYTES = 200
"""About what a record of a kept page takes besides its data."""


@frozen
class Unsettled:
    """What a plan found, while it is in doubt whether records before that were lost."""

    started: ShardOffset
    target: ShardOffset | None
    limits: Limits | None
    """None for a plan up to the tip."""
    end: ShardOffset
    doubt: Doubt
    progress: Progress
    emptiness: Emptiness | None

    @property
    def is_in_gap(self) -> bool:
        """Whether the plan has found nothing yet, and another one has to follow the gap further."""
        return self.end.cut == self.started.cut and isinstance(reading(self.progress), InGap)

    def serves(self, started: ShardOffset, target: ShardOffset | None, limits: Limits | None) -> bool:
        """Return whether another plan need not be made. One up to the tip has a new tip each time."""
        is_within = limits is not None and self.limits is not None and limits.allow(self.limits)
        return is_within and started == self.started and target == self.target


@define
class ShardCache:
    """
    Cursors, estimates and failed searches of one shard.

    A new cache instead of it changes which calls are made, and where batches end. It changes neither the records that are read nor
    the losses that are reported. In a gap it costs the pages since its beginning, once more.
    """

    sampling: Sampling = field(factory=Sampling)
    search: Search | None = None
    """A search for the record of a cut that is not done."""
    unsettled: Unsettled | None = None
    """The last plan, until the calls that settle its doubt have succeeded. Only they are made again."""
    used_up: Cut | None = None
    """Where a plan ended that used up its limits: more records may follow."""
    page: Page | None = None
    """The page with the first records that the last plan found, if it is small: a task need not read it again."""
    near_end: tuple[Record, int] | None = None
    """A record of a closed shard, and a time in ms from which none arrived, where a plan has looked for the last one."""
    _next: tuple[Cut, Cursor] | None = field(default=None, init=False)
    """A cut, and a cursor that continues after it."""
    _first: tuple[Cut, Cursor] | None = field(default=None, init=False)
    """A cut, and the cursor that brought the first records after it, past any gap before them."""

    def keep(self, cut: Cut, cursor: Cursor | None) -> None:
        """Remember the *cursor* that continues after *cut*, so that the next plan from there saves a call."""
        self._next = None if cursor is None else (cut, cursor)

    def keep_first(self, cut: Cut, cursor: Cursor | None) -> None:
        """Remember the *cursor* that brings the first records after *cut* again; None where no record was found."""
        self._first = None if cursor is None else (cut, cursor)

    def cursor_at(self, cut: Cut) -> Cursor:
        """Return a cursor that reads from *cut*: a kept one, if there is one."""
        for kept in (self._next, self._first):
            if kept is not None and kept[0] == cut:
                return kept[1]
        return Cursor(cut)


@define
class ShardState:
    """
    One shard between two plans: how to call it, how far it was read, what it showed, and what saves calls.

    A new one costs calls. It also forgets evidence, so that a shard which was silent for longer than the retention is in doubt.
    """

    calls: ShardCalls
    page_room: Callable[[], int] = lambda: 0
    """Returns how many bytes a page may have that is kept for a task."""
    closed: set[str] = field(factory=set)
    """The shards of the stream that were found closed at some time. This one adds itself."""
    progress: Progress = field(factory=Unknown, init=False)
    evidence: Evidence = field(factory=Evidence, init=False)
    cache: ShardCache = field(factory=ShardCache, init=False)
    stall: Stall = field(init=False)
    _moved_s: float = field(init=False)
    """When the last page came that had records or made progress."""

    def __attrs_post_init__(self) -> None:
        self.stall = Stall(self.calls.stream, self.shard_id)
        self._moved_s = self.clock.now_s()

    @property
    def shard_id(self) -> str:
        return self.calls.shard_id

    @property
    def clock(self) -> Clock:
        return self.calls.clock

    @property
    def lag_ms(self) -> int | None:
        """The lag where the last plan ended; None if no lag must be reported."""
        return lag_of(self.progress)

    @property
    def is_at_tip(self) -> bool:
        """Whether the last page had nothing after it, in an open shard or a closed one. True before the first page."""
        return not self.lag_ms

    def is_ended(self, cut: Cut) -> bool:
        """Return whether the shard is closed and no record follows *cut*."""
        return is_ended(self.progress, cut)

    def is_stuck(self, cut: Cut) -> bool:
        """Return whether reading from *cut* brings neither records nor progress."""
        return is_stuck(self.progress, cut)

    def stalls(self, cut: Cut) -> None:
        """
        Note that a plan from *cut* brings nothing, although nothing is lost.

        Raises:
            UnavailableError: It has brought nothing for too long.
        """
        pages = max(STALLED_PAGES, stalled_pages(self.progress))
        self.stall.goes_on(cut, pages, self._moved_s, self.clock.now_s())

    def empty_until_ms(self, cut: Cut) -> int | None:
        """Return a time before which no record after *cut* arrived, in ms since the epoch; None when none is known."""
        if self.evidence.emptiness is None:
            return None
        return self.evidence.empty_until_ms(reads_from(self.progress, cut))

    def note_use(self, limits: Limits, end: ShardOffset) -> None:
        """Note where a plan ended, if it used up its limits."""
        records = 0 if end.estimate is None else end.estimate.records
        is_used_up = limits.are_used_up(records, records * self.cache.sampling.record_bytes)
        self.cache.used_up = end.cut if is_used_up else None

    def withdraw(self, emptiness: Emptiness | None) -> None:
        """Forget that the shard was found empty or ended: while records may be lost, that may be what a loss left."""
        self.progress, self.evidence = in_doubt(self.progress), self.evidence.with_emptiness(emptiness)

    def settle(self, found: Unsettled) -> None:
        """Show what a plan found: nothing before it is lost."""
        self.progress, self.evidence = found.progress, self.evidence.with_emptiness(found.emptiness)
        self.cache.unsettled = None

    def keep_next(self, cut: Cut, record: Record) -> None:
        """Remember the first record after *cut*: the next plan from there knows that the shard has more."""
        self.evidence = self.evidence.with_following(cut, record)

    def keep_page(self, page: Page) -> None:
        """Keep the first records of a plan for the task that will read them, if there is room. They replace those of the last plan."""
        size_bytes = data_bytes(page.records) + RECORD_BYTES * len(page.records)
        self.cache.page = page if 0 < size_bytes <= self.page_room() else None

    def kept_page(self, first: int, end: Cut) -> Page | None:
        """Return the records from number *first* up to *end*, if the last plan has read exactly these and kept them."""
        page = self.cache.page
        if page is None or page.records[0].number != first or After(page.records[-1].number) != end:
            return None
        return Page(list(page.records), page.millis_behind)

    def next_page(self, cut: Cut, limit: int) -> Look:
        """
        Return the next page after *cut*.

        While pages are empty, the kept cursor moves through the gap and *cut* stays.
        """
        look = self.read(self.cache.cursor_at(cut), limit)
        if isinstance(
            self.progress, AfterLoss
        ):  # a shard that could not be read may have more left than was seen
            drop_before(look.page, self.progress.cut)
        self.ends_with(cut, look)
        self.cache.keep_first(cut, look.at if look.records else None)
        self.cache.keep(cut, None if look.records else look.rest)
        return look

    def read_on(self, cursor: Cursor, limit: int) -> Look:
        """
        Return the page at *cursor*, where a plan continues.

        Raises:
            ThrottledError: The quota is used up. The next call waits longer.
        """
        look = self.read(cursor, limit)
        self.ends_with(cursor.cut, look)
        return look

    def ends_with(self, cut: Cut, look: Look) -> None:
        """Note that a plan ends with a page which was read from *cut*."""
        self.progress = after_page(self.progress, cut, look.page, at_tip=look.at_tip)
        if look.is_shard_end:
            self.closed.add(self.shard_id)
        self.evidence = self.evidence.with_progress(self.progress, self.calls.now_ms())
        if stalled_pages(self.progress) <= 1:
            self._moved_s = self.clock.now_s()

    def see_next(self, cut: Cut) -> None:
        """Read the first record after *cut*, where a plan ends: it may have expired when the next plan starts there."""
        planned = self.progress
        look = self.next_page(cut, 1)
        if look.records or not look.is_shard_end:
            self.progress = planned
        if look.records:
            self.keep_next(cut, look.records[0])

    def first_page(self, cut: At | AtTimestamp) -> Look:
        """
        Return the page of the first record after *cut*; an empty one where the shard has none now. The progress stays.

        Where pages stay empty, it is the oldest record if that comes after the record of *cut*. Otherwise this waits.

        Raises:
            UnavailableError: Pages stay empty for too long, and the oldest record does not come after *cut*.
        """
        stall, since_s = Stall(self.calls.stream, self.shard_id), self.clock.now_s()
        while (look := self.page_at(cut, 1, None)).is_in_gap:
            search = Search(cut, is_absent=True)
            if isinstance(cut, At) and isinstance(search.proceed(self), (Left, Expired)) and search.oldest:
                look = self.read(search.oldest, 1)
                if not look.is_in_gap:
                    return look
            stall.goes_on(cut, STALLED_PAGES, since_s, self.clock.now_s())
        return look

    def await_record(self, number: int) -> Left | Passed | Expired:
        """
        Return whether record *number* is left, with its data. A gap before it is crossed: it may be an aggregate that was read in part.

        The progress stays. Raises as `first_page` and as `await_record` of the shards do.
        """
        with self.calls.patiently():
            named = self.first_page(At(number)).records
            if named and named[0].number == number:
                return Left(named[0])
            stall = Stall(self.calls.stream, self.shard_id)
            return await_record(self, number, stall, is_absent=True, with_data=True)

    def look_for(self, cut: Cut) -> Standing | None:
        """
        Return whether the record of *cut* is left, or else which is the oldest one that is. The progress stays.

        None when more pages have to be read: the next call continues the search. A plan from the oldest record reads the page again.
        """
        cache = self.cache
        if cache.search is None or cache.search.cut != cut:
            cache.search = Search(cut)
        search = cache.search
        found = search.proceed(self, math.inf if self.calls.is_thorough else VISIT_PAGES)
        if isinstance(found, Unseen) and not search.is_stuck:
            return None
        cache.search = None
        if isinstance(found, Expired):
            cache.keep_first(TrimHorizon(), search.oldest if found.oldest else None)
        return found

    def moves(self, cut: Cut) -> bool:
        """Return whether reading again from *cut* returns records or makes progress. The progress stays."""
        look = self.read(Cursor(cut), 1)
        if look.rest is None or not look.is_in_gap:
            return bool(look.records)
        following = self.read(look.rest, 1)
        return bool(following.records) or following.page.millis_behind < look.page.millis_behind

    def page_at(self, cut: Cut, limit: int, max_pages: int | None) -> Look:
        """
        Return the first page after *cut* that has records or is the last, after *max_pages* pages at most.

        It is an empty one as well where the gap does not end. This is a probe: the progress stays.
        """
        return self._note(self.calls.first(Cursor(cut), limit, max_pages))

    def read(self, cursor: Cursor, limit: int, *, with_data: bool = True) -> Look:
        """Return the page at *cursor*, and keep what it shows of the shard. The progress stays."""
        return self._note(self.calls.read(cursor, limit, with_data=with_data))

    def _note(self, look: Look) -> Look:
        if look.records:
            self.evidence = self.evidence.with_records(look.records)
            self.cache.sampling.note(look.records)
        return look
