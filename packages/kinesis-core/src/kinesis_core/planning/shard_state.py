"""ShardState: reads one shard for the planner, and keeps what the next plan needs."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.aws import log_renewal
from kinesis_core.errors import IteratorExpiredError
from kinesis_core.model import Cut, Page, Record, TrimHorizon, drop_before
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
)
from kinesis_core.planning.shard_cache import ShardCache
from kinesis_core.planning.shard_calls import ShardCalls


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

    @property
    def shard_id(self) -> str:
        return self.calls.shard_id

    @property
    def lag_ms(self) -> int | None:
        """The lag where the last plan ended; None where no lag is to be reported."""
        return lag_of(self.progress)

    @property
    def is_at_tip(self) -> bool:
        """Whether the last page had nothing after it, in an open shard or a closed one."""
        return not self.lag_ms

    @property
    def has_ended(self) -> bool:
        """Whether the shard is closed and no record follows some cut."""
        return isinstance(self.progress, (Ended, Lost)) and isinstance(reading(self.progress), Ended)

    def is_ended(self, cut: Cut) -> bool:
        """Return whether the shard is closed and no record follows *cut*."""
        return is_ended(self.progress, cut)

    def is_stuck(self, cut: Cut) -> bool:
        """Return whether reading from *cut* brings neither records nor progress."""
        return is_stuck(self.progress, cut)

    def empty_until_ms(self, cut: Cut) -> int | None:
        """Return a time before which no record after *cut* arrived, in ms since the epoch; None when none is known."""
        return self.evidence.empty_until_ms(reads_from(self.progress, cut))

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
        self.progress = after_page(self.progress, cut, page, at_tip=at_tip)
        self.evidence = self.evidence.with_progress(self.progress, self.calls.now_ms())
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
        self.progress = after_page(self.progress, cut, page, at_tip=is_tip(page, limit))

    def see_next(self, cut: Cut) -> None:
        """Read the first record after *cut*, where a plan ends: it may have left the stream when the next plan starts there."""
        planned = self.progress
        page = self.next_page(cut, 1)
        if page.records or not page.is_shard_end:
            self.progress = planned
        if page.records:
            self.keep_next(cut, page.records[0])

    def page_at(self, cut: Cut, limit: int, max_empty: int | None) -> Page:
        """
        Return the first page after *cut* that has records or is the last, after *max_empty* empty ones at most.

        This is a probe: the progress stays.
        """
        page, empty = self._get(self.calls.new_iterator(cut), limit), 1
        while page.is_in_gap and page.next_iterator is not None and empty != max_empty:
            page, empty = self._get(page.next_iterator, limit), empty + 1
        return page

    def oldest_page(self, max_empty: int | None) -> Page | None:
        """
        Return the page of the oldest record, an empty one when the shard has none. The progress stays.

        None when more than *max_empty* empty pages come before it: the next call continues the search. A plan from the oldest
        record reuses the iterator.
        """
        empty = 0
        while empty != max_empty:
            iterator = self.cache.to_oldest = self.cache.to_oldest or self.calls.new_iterator(TrimHorizon())
            try:
                page = self._get(iterator, 1)
            except IteratorExpiredError:
                self.cache.to_oldest = None
                raise
            self.cache.to_oldest = page.next_iterator if page.is_in_gap else None
            if not page.is_in_gap:
                self.cache.keep_first(TrimHorizon(), iterator if page.records else None)
                return page
            empty += 1
        return None

    def _get(self, iterator: str, limit: int) -> Page:
        page = self.calls.get_page(iterator, limit)
        if page.records:
            self.evidence = self.evidence.with_records(page.records)
            self.cache.sampling.note(page.records)
        return page
