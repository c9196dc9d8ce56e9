"""ShardState: reads one shard for the planner, and keeps what the next plan needs."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.aws import log_renewal
from kinesis_core.errors import IteratorExpiredError
from kinesis_core.model import (
    After,
    At,
    Cut,
    Page,
    Record,
    ShardOffset,
    TrimHorizon,
    drop_before,
    is_after,
)
from kinesis_core.planning.evidence import Evidence
from kinesis_core.planning.progress import (
    Ended,
    Lost,
    Progress,
    Unknown,
    after_page,
    is_ended,
    is_stuck,
    is_tip,
    lag_of,
    reading,
    reads_from,
    stalled_pages,
)
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shard_cache import OldestSearch, ShardCache
from kinesis_core.planning.shard_calls import ShardCalls
from kinesis_core.shards import STALLED_PAGES, Stall


@define
class ShardState:
    """
    One shard between two plans: how to call it, how far it was read, what it showed, and what saves calls.

    A new one costs calls. It also forgets evidence, so that a shard which was silent for longer than the retention is in doubt.
    """

    calls: ShardCalls
    progress: Progress = field(factory=Unknown, init=False)
    evidence: Evidence = field(factory=Evidence, init=False)
    cache: ShardCache = field(factory=ShardCache, init=False)
    stall: Stall = field(init=False)
    _moved_s: float = field(init=False)
    """When the last page came that had records or made progress."""

    def __attrs_post_init__(self) -> None:
        self.stall = Stall(self.calls.stream, self.shard_id)
        self._moved_s = self.calls.clock.now_s()

    @property
    def shard_id(self) -> str:
        return self.calls.shard_id

    @property
    def lag_ms(self) -> int | None:
        """The lag where the last plan ended; None where no lag is to be reported."""
        return lag_of(self.progress)

    @property
    def is_at_tip(self) -> bool:
        """Whether the last page had nothing after it, in an open shard or a closed one. True before the first page."""
        return not self.lag_ms

    @property
    def has_ended(self) -> bool:
        """Whether the shard is closed and no record follows some cut."""
        return isinstance(reading(self.progress), Ended)

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
        self.stall.goes_on(cut, pages, self._moved_s, self.calls.clock.now_s())

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

    def keep_next(self, cut: Cut, record: Record) -> None:
        """Remember the first record after *cut*: the next plan from there knows that the shard has more."""
        self.evidence = self.evidence.with_following(cut, record)

    def next_page(self, cut: Cut, limit: int) -> Page:
        """
        Return the next page after *cut*.

        While pages are empty, the kept iterator moves through the gap and *cut* stays.
        """
        iterator = self.cache.iterator_at(cut) or self.calls.new_iterator(cut)
        try:
            page = self._get(iterator, limit)
        except IteratorExpiredError:
            iterator = self.calls.new_iterator(cut)
            log_renewal(self.calls.stream, self.shard_id, cut)
            page = self._get(iterator, limit)
        at_tip = is_tip(page, limit)
        drop_before(page, cut)
        if isinstance(self.progress, Lost):  # a shard that could not be read may have more left than was seen
            drop_before(page, self.progress.cut)
        self._proceed(cut, page, at_tip=at_tip)
        self.cache.keep_first(cut, iterator if page.records else None)
        self.cache.keep(cut, None if page.records else page.next_iterator)
        return page

    def read_on(self, cut: Cut, iterator: str, limit: int) -> Page:
        """
        Return the page that *iterator* brings, which continues after *cut*.

        Raises:
            ThrottledError: The quota is used up. The next call waits longer.
            IteratorExpiredError: The caller continues with a new iterator.
        """
        page = self._get(iterator, limit)
        self.ends_with(cut, page, limit)
        return page

    def ends_with(self, cut: Cut, page: Page, limit: int) -> None:
        """Note that a plan ends with *page*, which was read from *cut*."""
        self._proceed(cut, page, at_tip=is_tip(page, limit))

    def see_next(self, cut: Cut) -> None:
        """Read the first record after *cut*, where a plan ends: it may have left the stream when the next plan starts there."""
        planned = self.progress
        page = self.next_page(cut, 1)
        if page.records or not page.is_shard_end:
            self.progress = planned
        if page.records:
            self.keep_next(cut, page.records[0])

    def first_page(self, cut: Cut) -> Page:
        """
        Return the page of the first record after *cut*; an empty one where the shard has none now. The progress stays.

        Where pages stay empty, it is the oldest record if that comes after *cut*. Otherwise this waits.

        Raises:
            UnavailableError: Pages stay empty for too long, and the oldest record does not come after *cut*.
            IteratorExpiredError: Try again.
        """
        stall, since_s = Stall(self.calls.stream, self.shard_id), self.calls.clock.now_s()
        while True:
            page = self.page_at(cut, 1, None)
            if not page.is_in_gap:
                return page
            oldest = self.oldest_page(None) if isinstance(cut, (At, After)) else None
            if oldest is not None and not oldest.is_in_gap and _begins_after(oldest, cut):
                return oldest
            stall.goes_on(cut, STALLED_PAGES, since_s, self.calls.clock.now_s())

    def moves(self, cut: Cut) -> bool:
        """Return whether a new iterator after *cut* brings records or progress. The progress stays."""
        page = self._get(self.calls.new_iterator(cut), 1)
        if page.next_iterator is None or not page.is_in_gap:
            return bool(page.records)
        following = self._get(page.next_iterator, 1)
        return bool(following.records) or following.millis_behind < page.millis_behind

    def page_at(self, cut: Cut, limit: int, max_empty: int | None) -> Page:
        """
        Return the first page after *cut* that has records or is the last, after *max_empty* empty ones at most.

        It is an empty one as well where the gap does not end. This is a probe: the progress stays.
        """
        page, empty = self._get(self.calls.new_iterator(cut), limit), 1
        gap = after_page(Unknown(), cut, page, at_tip=False)
        while page.next_iterator is not None and _continues(page, gap, cut) and empty != max_empty:
            page, empty = self._get(page.next_iterator, limit), empty + 1
            gap = after_page(gap, cut, page, at_tip=False)
        return page

    def oldest_page(self, max_empty: int | None) -> Page | None:
        """
        Return the page of the oldest record, an empty one when the shard has none that can be read. The progress stays.

        None when more than *max_empty* empty pages come before it: the next call continues the search. A plan from the oldest
        record reuses the iterator.
        """
        oldest, empty = TrimHorizon(), 0
        while empty != max_empty:
            search = self.cache.search or OldestSearch(self.calls.new_iterator(oldest), Unknown())
            self.cache.search = search
            try:
                page = self._get(search.iterator, 1)
            except IteratorExpiredError:
                self.cache.search = None
                raise
            gap = after_page(search.gap, oldest, page, at_tip=False)
            if page.next_iterator is None or not _continues(page, gap, oldest):
                self.cache.search = None
                self.cache.keep_first(oldest, search.iterator if page.records else None)
                return page
            self.cache.search, empty = OldestSearch(page.next_iterator, gap), empty + 1
        return None

    def _proceed(self, cut: Cut, page: Page, *, at_tip: bool) -> None:
        self.progress = after_page(self.progress, cut, page, at_tip=at_tip)
        self.evidence = self.evidence.with_progress(self.progress, self.calls.now_ms())
        if stalled_pages(self.progress) <= 1:
            self._moved_s = self.calls.clock.now_s()

    def _get(self, iterator: str, limit: int) -> Page:
        page = self.calls.get_page(iterator, limit)
        if page.records:
            self.evidence = self.evidence.with_records(page.records)
            self.cache.sampling.note(page.records)
        return page


def _begins_after(page: Page, cut: Cut) -> bool:
    return not page.records or is_after(page.records[0].number, cut)


def _continues(page: Page, gap: Progress, cut: Cut) -> bool:
    """Return whether records after *cut* may follow the empty *page*, which led to *gap*."""
    return page.is_in_gap and not is_stuck(gap, cut)
