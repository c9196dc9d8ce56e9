"""One shard as the planner sees it: paced calls, a kept iterator, and what they taught about the shard."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.cuts import Cut, TrimHorizon, is_behind
from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.pace import Pace
from kinesis_core.pages import Page, Record
from kinesis_core.retry import log_retry
from kinesis_core.stream_api import StreamApi

MAX_PAGE_RECORDS = 10_000
SAMPLE_BYTES = 256 * 1024
"""What a plan may read of a shard just to see whether it is quiet, of the 2 MiB/s that all readers share."""
MAX_SAMPLE_RECORDS = 1000
IDLE_MARGIN_MS = 5000
"""How much earlier than the answer a shard counts as seen idle: arrival times may be off by as much."""
STUCK_PAGES = 50
"""Empty pages in a row, none of them closer to the tip, that show a position from which nothing can be read."""
FIRST_SAMPLE_RECORDS = 25
"""How many records are read of a shard whose record size is not known yet."""


@define
class ShardView:
    """What is remembered of a shard between two plans. Losing it costs calls, never records."""

    api: StreamApi
    shard_id: str
    clock: Clock
    pace: Pace
    rng: random.Random
    stream: str = ""
    """What logs call it."""
    millis_behind: int | None = None
    lost_behind: Cut | None = None
    """A cut from which there is no way on but the oldest record."""
    _ended_behind: Cut | None = field(default=None, init=False)
    _idle: tuple[Cut, int] | None = field(default=None, init=False)
    """A cut behind which nothing was, and when."""
    _cut: Cut | None = field(default=None, init=False)
    _iterator: str | None = field(default=None, init=False)
    _next: tuple[Cut, Record] | None = field(default=None, init=False)
    """A cut, and the first record behind it."""
    _is_patient: bool = field(default=False, init=False)
    _no_progress: int = field(default=0, init=False)
    _record_bytes: float = field(default=SAMPLE_BYTES / FIRST_SAMPLE_RECORDS, init=False)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Wait throttles out meanwhile: what takes many calls would never be done if each throttle began it anew."""
        self._is_patient = True
        try:
            yield
        finally:
            self._is_patient = False

    @property
    def is_fresh(self) -> bool:
        """Whether no plan has looked into this shard yet."""
        return self._cut is None

    @property
    def is_stuck(self) -> bool:
        """Whether reading on from the last position brings neither records nor progress."""
        return self._no_progress >= STUCK_PAGES

    def is_ended(self, cut: Cut) -> bool:
        """Return whether the shard was found closed with nothing behind *cut*."""
        return self._ended_behind == (TrimHorizon() if cut == self.lost_behind else cut)

    def idle_at_ms(self, cut: Cut) -> int | None:
        """Return when the shard was last seen with nothing behind *cut*, in ms since the epoch, if it was."""
        return self._idle[1] if self._idle is not None and self._idle[0] == cut else None

    def now_ms(self) -> int:
        return self.api.now_ms()

    def sample_records(self) -> int:
        """Return how many records fit the sample's byte budget, judging by those seen before."""
        return min(MAX_SAMPLE_RECORDS, self.records_for(SAMPLE_BYTES))

    def records_for(self, size_bytes: int) -> int:
        """Return how many records make up about *size_bytes*: 1 to 10,000."""
        return max(1, min(MAX_PAGE_RECORDS, int(size_bytes / self._record_bytes)))

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
            self.clock.sleep(self.pace.wait_s(self.clock.now_s()))

    def next_page(self, cut: Cut, limit: int) -> Page:
        """
        Return the page behind *cut*, with the kept iterator where there is one.

        While pages are empty the iterator moves on through the gap and the cut stays.
        """
        kept, behind_ms = (self._iterator, self.millis_behind) if self._cut == cut else (None, None)
        try:
            page = self.read(kept or self.iterator_at(cut), limit)
        except IteratorExpiredError:
            page = self.read(self.iterator_at(cut), limit)
        _leave_out_before(page, cut)
        self._note_progress(page, behind_ms)
        self.keep(cut, None if page.records else page.next_iterator)
        if not page.records and page.millis_behind == 0:
            self._idle = cut, self.now_ms() - IDLE_MARGIN_MS
        if page.is_shard_end and not page.records:
            self._ended_behind = cut
        return page

    def _note_progress(self, page: Page, behind_ms: int | None) -> None:
        stays = not page.records and behind_ms is not None and page.millis_behind >= behind_ms > 0
        self._no_progress = self._no_progress + 1 if stays else 0

    def page_at(self, cut: Cut, limit: int, max_empty: int | None) -> Page:
        """Return the first page behind *cut* that has records or is the last, after *max_empty* empty ones at most."""
        page = self.read(self.iterator_at(cut), limit)
        empty = 1
        while (
            not page.records
            and page.next_iterator is not None
            and page.millis_behind > 0
            and empty != max_empty
        ):
            page = self.read(page.next_iterator, limit)
            empty += 1
        return page

    def read(self, iterator: str, limit: int) -> Page:
        """
        Call GetRecords when the shard's pace allows it.

        Raises:
            ThrottledError: The quota is used up; the pace now waits longer.
            IteratorExpiredError: The caller goes on with a new one.
        """
        page = self._read_paced(iterator, limit)
        self.pace.succeeded()
        self.millis_behind = (
            None if page.is_shard_end else page.millis_behind
        )  # a finished shard is not behind
        if page.records:
            average = sum(len(record.data) for record in page.records) / len(page.records)
            self._record_bytes = max(1.0, average)
        return page

    def _read_paced(self, iterator: str, limit: int) -> Page:
        while True:
            self.clock.sleep(self.pace.wait_s(self.clock.now_s()))
            self.pace.spend(self.clock.now_s())
            try:
                return self.api.get_records(iterator, limit, shard_id=self.shard_id)
            except ThrottledError as error:
                self._back_off("GetRecords", error)
            except IteratorExpiredError as error:
                self._log_retry("GetRecords", error, 1)
                raise

    def _back_off(self, call: str, error: ThrottledError) -> None:
        """Let the pace wait longer; raise *error* unless throttles are waited out."""
        self.pace.throttled(self.clock.now_s(), self.rng)
        self._log_retry(call, error, self.pace.throttles)
        if not self._is_patient:
            raise error

    def _log_retry(self, call: str, error: ServiceError, attempt: int) -> None:
        wait_s = self.pace.wait_s(self.clock.now_s())
        log_retry(call, error.code, attempt, wait_s, stream=self.stream, shard=self.shard_id)


def _leave_out_before(page: Page, cut: Cut) -> None:
    """Leave out what a server that is not exact put before *cut*; numbers increase, so that stands first."""
    before = 0
    while before < len(page.records) and not is_behind(page.records[before].number, cut):
        before += 1
    if before:
        page.records = page.records[before:]
