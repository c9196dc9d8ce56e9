"""One shard as the planner sees it: paced calls, a kept iterator, and what they taught about the shard."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_renewal, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import After, Cut, Page, Record, TrimHorizon, drop_before
from kinesis_core.planning.sampling import Sampling

EMPTY_MARGIN_MS = 5000
"""How much earlier than a page says a shard counts as seen empty: arrival times may be off by as much."""
STUCK_PAGES = 50
"""Empty pages in a row, none of them closer to the tip, that show a position from which nothing can be read."""


@define
class ShardState:
    """What is remembered of a shard between two plans. Losing it costs calls, never records."""

    api: StreamApi
    shard_id: str
    clock: Clock
    limiter: ReadRateLimiter
    rng: random.Random
    stream: str = ""
    """What logs call it."""
    on_expired: Callable[[], None] = lambda: None
    """Called before an iterator is renewed: the old one may be of a stream that was deleted since."""
    crosses_gaps: bool = False
    """Whether a plan walks gaps to their end, because no other is known to go on where it stops."""
    millis_behind: int | None = None
    empty: tuple[Cut, int] | None = None
    """A cut, and a time in ms since the epoch: no record behind the cut arrived before it."""
    latest: int | None = None
    """The highest number of a record that was seen."""
    lost_behind: Cut | None = None
    """Data after this cut is lost; reading goes on at the oldest record."""
    promised_ms: int | None = None
    """No record that was not planned when the shard was last asked arrived before this time."""
    not_found: Cut | None = None
    """A cut whose record was looked for in vain: most likely it has left the stream."""
    ended_behind: Cut | None = None
    """A cut behind which the shard was found closed with nothing in it."""
    sampling: Sampling = field(factory=Sampling, init=False)
    _cut: Cut | None = field(default=None, init=False)
    _iterator: str | None = field(default=None, init=False)
    _next: tuple[Cut, Record] | None = field(default=None, init=False)
    """A cut, and the first record behind it."""
    _again: tuple[Cut, str] | None = field(default=None, init=False)
    """A cut, and the iterator that brought the first records behind it, whatever gap lies before them."""
    _to_oldest: str | None = field(default=None, init=False)
    """Goes on with the walk to the oldest record."""
    _is_patient: bool = field(default=False, init=False)
    _is_in_gap: bool = field(default=False, init=False)
    _no_progress: int = field(default=0, init=False)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Wait throttles out meanwhile: what takes many calls would never be done if each throttle began it anew."""
        was_patient, self._is_patient = self._is_patient, True
        try:
            yield
        finally:
            self._is_patient = was_patient

    @property
    def is_thorough(self) -> bool:
        """Whether what takes many calls has to be done in this plan."""
        return self._is_patient or self.crosses_gaps

    @property
    def is_at_tip(self) -> bool:
        """Whether the last page had nothing behind it, in an open shard or a closed one."""
        return not self.millis_behind

    @property
    def is_stuck(self) -> bool:
        """Whether reading on from the last position brings neither records nor progress."""
        return self._no_progress >= STUCK_PAGES

    def is_ended(self, cut: Cut) -> bool:
        """Return whether the shard was found closed with nothing behind *cut*."""
        return self.ended_behind == self._read_from(cut)

    def empty_until_ms(self, cut: Cut) -> int | None:
        """Return a time before which no record behind *cut* arrived, in ms since the epoch; None when none is known."""
        return self.empty[1] if self.empty is not None and self.empty[0] == self._read_from(cut) else None

    def _read_from(self, cut: Cut) -> Cut:
        return TrimHorizon() if cut == self.lost_behind else cut

    def now_ms(self) -> int:
        return self.api.now_ms()

    def keep(self, cut: Cut, iterator: str | None) -> None:
        """Remember an iterator for *cut*, so that the next plan from there saves a call."""
        self._cut, self._iterator = cut, iterator

    def keep_next(self, cut: Cut, record: Record) -> None:
        """Remember the first record behind *cut*: the next plan from there knows that the shard has more."""
        self._next = cut, record

    def next_record(self, cut: Cut) -> Record | None:
        return self._next[1] if self._next is not None and self._next[0] == cut else None

    def iterator_at(self, cut: Cut) -> str:
        """
        Return a new iterator; its calls are bounded by those of GetRecords, which follow each of them.

        Raises:
            ThrottledError: The quota is used up; the pace now waits longer.
        """
        while True:
            try:
                return self.api.get_iterator(self.shard_id, cut)
            except ThrottledError as error:
                self._back_off("GetShardIterator", error)
            self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))

    def next_page(self, cut: Cut, limit: int) -> Page:
        """
        Return the page behind *cut*, with the kept iterator where there is one.

        While pages are empty the iterator moves on through the gap and the cut stays.
        """
        behind_ms = self.millis_behind if self._cut == cut else None
        iterator = self._kept(cut) or self.iterator_at(cut)
        try:
            page = self.read(iterator, limit)
        except IteratorExpiredError:
            iterator = self.iterator_at(cut)
            log_renewal(self.stream, self.shard_id, cut)
            page = self.read(iterator, limit)
        is_tip = page.millis_behind == 0 and len(page.records) < limit
        drop_before(page, cut)
        if not page.is_shard_end and (is_tip or not page.records):
            self._note_empty(After(page.records[-1].number) if page.records else cut, page.millis_behind)
        self._again = (cut, iterator) if page.records else None
        self._note_progress(page, behind_ms)
        self.keep(cut, None if page.records else page.next_iterator)
        if page.is_shard_end and not page.records:
            self.ended_behind = cut
        return page

    def _kept(self, cut: Cut) -> str | None:
        if self._cut == cut and self._iterator is not None:
            return self._iterator
        return self._again[1] if self._again is not None and self._again[0] == cut else None

    def _note_empty(self, cut: Cut, behind_ms: int) -> None:
        """Note that a page of an open shard found nothing behind *cut* up to *behind_ms* before now: children are younger."""
        until_ms = self.now_ms() - behind_ms - EMPTY_MARGIN_MS
        known_ms = self.empty[1] if self.empty is not None and self.empty[0] == cut else until_ms
        self.empty = cut, max(known_ms, until_ms)

    def _note_progress(self, page: Page, behind_ms: int | None) -> None:
        stays = not page.records and behind_ms is not None and page.millis_behind >= behind_ms > 0
        self._no_progress = self._no_progress + 1 if stays else 0

    def see_next(self, cut: Cut) -> None:
        """Look at the first record behind *cut*: a plan comes from there anyway, and may come when it has left."""
        behind_ms = self.millis_behind
        try:
            page = self.next_page(cut, 1)
        finally:
            self.millis_behind = behind_ms  # which is how far the plan is
        if page.records:
            self._next = cut, page.records[0]

    def page_at(self, cut: Cut, limit: int, max_empty: int | None) -> Page:
        """Return the first page behind *cut* that has records or is the last, after *max_empty* empty ones at most."""
        page, empty = self.read(self.iterator_at(cut), limit), 1
        while page.is_in_gap and page.next_iterator is not None and empty != max_empty:
            page, empty = self.read(page.next_iterator, limit), empty + 1
        return page

    def oldest_page(self, max_empty: int | None) -> Page | None:
        """
        Return the page of the oldest record, an empty one when the shard has none.

        None when it lies behind a gap of more than *max_empty* pages: asked again, the walk goes on. What it brings is
        kept for a plan from the oldest record.
        """
        empty, behind_ms = 0, self.millis_behind
        while empty != max_empty:
            iterator = self._to_oldest = self._to_oldest or self.iterator_at(TrimHorizon())
            try:
                page = self.read(iterator, 1)
            except IteratorExpiredError:
                self._to_oldest = None
                raise
            finally:
                self.millis_behind = behind_ms  # which is how far the plans are, not this walk
            self._to_oldest = page.next_iterator if page.is_in_gap else None
            if not page.is_in_gap:
                self._again = (TrimHorizon(), iterator) if page.records else None
                return page
            empty += 1
        return None

    def read(self, iterator: str, limit: int) -> Page:
        """
        Call GetRecords when the shard's pace allows it.

        Raises:
            ThrottledError: The quota is used up; the pace now waits longer.
            IteratorExpiredError: The caller goes on with a new one.
        """
        page = self._read_paced(iterator, limit)
        self.limiter.succeeded()
        self._is_in_gap = page.is_in_gap
        self.millis_behind = None if page.is_shard_end else page.millis_behind  # an end is not behind
        if page.records:
            self.latest = max(self.latest or 0, page.records[-1].number)
            self.sampling.note(page.records)
        return page

    def _read_paced(self, iterator: str, limit: int) -> Page:
        while True:
            self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))
            self.limiter.spend(self.clock.now_s())
            try:
                return self.api.get_records(iterator, limit, shard_id=self.shard_id)
            except ThrottledError as error:
                self._back_off("GetRecords", error)
            except IteratorExpiredError as error:
                self.on_expired()
                self.crosses_gaps = True  # plans so far apart would each begin the same gap anew
                self._log_retry("GetRecords", error, 1)
                raise

    def _back_off(self, call: str, error: ThrottledError) -> None:
        """Let the pace wait longer; raise *error* unless throttles are waited out."""
        self.limiter.throttled(self.clock.now_s(), self.rng)
        self._log_retry(call, error, self.limiter.throttles)
        if not (self._is_patient or (self.crosses_gaps and self._is_in_gap)):
            raise error

    def _log_retry(self, call: str, error: ServiceError, attempt: int) -> None:
        wait_s = self.limiter.wait_s(self.clock.now_s())
        log_retry(call, error.code, attempt, wait_s, stream=self.stream, shard=self.shard_id)
