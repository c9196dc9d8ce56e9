"""Reads one shard page after page, and leaves most of its read quota to its readers."""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_cli.traffic.tally import size_of
from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import ThrottledError
from kinesis_core.model import AtTimestamp, Page

PERIOD_S = 0.5
"""Between two calls on a shard: 2 of the 5 a second that all its readers share."""
BYTES_PER_S = 1024 * 1024
"""Of the 2 MiB/s that all readers of a shard share."""
PAGE_BYTES = 1024 * 1024
FIRST_RECORDS = 100
"""Records of the first page: their size is not known yet, and each may have 10 MiB."""
MAX_PAGE_RECORDS = 10_000


@define
class PageReader:
    """One shard, page after page from *start_ms* on, at a limited rate."""

    api: StreamApi
    shard_id: str
    start_ms: int
    clock: Clock
    rng: random.Random
    max_throttles: int
    limiter: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(PERIOD_S), init=False)
    iterator: str | None = field(default=None, init=False)
    page_bytes: int = field(default=PAGE_BYTES, init=False)
    record_bytes: float = field(default=PAGE_BYTES / FIRST_RECORDS, init=False)

    def page(self) -> Page:
        """
        Return the next page.

        Raises:
            ThrottledError: Other readers use up the quota.
        """
        while True:
            self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))
            self.limiter.spend(self.clock.now_s())
            try:
                if self.iterator is None:
                    self.iterator = self.api.get_iterator(self.shard_id, AtTimestamp(self.start_ms))
                page = self.api.get_records(self.iterator, self._limit(), shard_id=self.shard_id)
            except ThrottledError:
                self.limiter.throttled(self.clock.now_s(), self.rng)
                if self.limiter.throttles > self.max_throttles:
                    raise
                continue
            self.limiter.succeeded()
            self.iterator = page.next_iterator
            self._took(page)
            return page

    def skip_to(self, start_ms: int, page_bytes: int) -> None:
        """Let the next page begin at *start_ms*, and pages have about *page_bytes*."""
        self.start_ms, self.iterator, self.page_bytes = start_ms, None, page_bytes

    def _took(self, page: Page) -> None:
        """Note the size of *page*, and rest for as long as it takes at the rate."""
        size_bytes = sum(map(size_of, page.records))
        if page.records:
            self.record_bytes = max(1.0, size_bytes / len(page.records))
        self.limiter.rest(self.clock.now_s() + size_bytes / BYTES_PER_S)

    def _limit(self) -> int:
        return max(1, min(MAX_PAGE_RECORDS, int(self.page_bytes / self.record_bytes)))
