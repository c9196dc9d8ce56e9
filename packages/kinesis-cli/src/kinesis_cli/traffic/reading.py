"""Reads the latest records of one shard, and leaves most of the shard's read quota to its readers."""

from __future__ import annotations

import random

from attrs import define, field, frozen

from kinesis_cli.traffic.samples import Sample
from kinesis_cli.traffic.tally import Tally
from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import AtTimestamp, Page, Shard

PERIOD_S = 0.5
"""Between two calls on a shard: 2 of the 5 a second that all its readers share."""
BYTES_PER_S = 1024 * 1024
"""Of the 2 MiB/s that all readers of a shard share."""
PAGE_BYTES = 1024 * 1024
FIRST_RECORDS = 100
"""Records of the first page: their size is not known yet, and each may have 10 MiB."""
MAX_PAGE_RECORDS = 10_000
MIB = 1024 * 1024
_CLOCK_MS = 1000
"""How far the service's clock may be ahead of its lower bound, which Date headers give to the second."""


@frozen
class Window:
    """The time that a sample is of, in the service's milliseconds."""

    start_ms: int
    end_ms: int

    @staticmethod
    def of_last(sample_ms: int, api: StreamApi, created_ms: int) -> Window:
        """Return the last *sample_ms* milliseconds of a stream, or the time since it was created."""
        now_ms = api.now_ms()
        return Window(max(created_ms, now_ms - sample_ms), now_ms + _CLOCK_MS)


@frozen
class Bounds:
    """How much a sample may read of one shard."""

    max_bytes: int
    max_calls: int = 30
    max_throttles: int = 5
    """Throttles in a row. Then other readers use up the quota, and the sample ends."""


def bounds_for(shards: int, max_bytes: int) -> Bounds:
    """Return the bounds of a sample of so many shards: *max_bytes* of each, and less of each where there are hundreds."""
    return Bounds(max(MIB // 16, min(max_bytes, 512 * MIB // max(1, shards))))


@define
class _Reader:
    """One shard, page after page, at a limited rate."""

    api: StreamApi
    shard_id: str
    clock: Clock
    rng: random.Random
    max_throttles: int
    limiter: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(PERIOD_S), init=False)
    iterator: str | None = field(default=None, init=False)
    record_bytes: float = field(default=PAGE_BYTES / FIRST_RECORDS, init=False)

    def page(self, start_ms: int) -> Page:
        """Return the next page. The first one begins at *start_ms*."""
        while True:
            self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))
            self.limiter.spend(self.clock.now_s())
            try:
                if self.iterator is None:
                    self.iterator = self.api.get_iterator(self.shard_id, AtTimestamp(start_ms))
                page = self.api.get_records(self.iterator, self._limit(), shard_id=self.shard_id)
            except ThrottledError:
                self.limiter.throttled(self.clock.now_s(), self.rng)
                if self.limiter.throttles > self.max_throttles:
                    raise
                continue
            self.limiter.succeeded()
            self.iterator = page.next_iterator
            return page

    def took(self, records: int, size_bytes: int) -> None:
        """Note the size of a page, and rest for as long as it takes at the rate."""
        if records:
            self.record_bytes = max(1.0, size_bytes / records)
        self.limiter.rest(self.clock.now_s() + size_bytes / BYTES_PER_S)

    def _limit(self) -> int:
        return max(1, min(MAX_PAGE_RECORDS, int(PAGE_BYTES / self.record_bytes)))


def sample_shard(
    api: StreamApi,
    shard: Shard,
    window: Window,
    bounds: Bounds,
    clock: Clock,
    rng: random.Random,
    *,
    by_key: bool = False,
) -> Sample | None:
    """
    Return a sample of the records of *shard* from the start of *window* to its end, to the tip, or to *bounds*.

    None: the shard's readers use up its quota, or it has expired.
    """
    tally = Tally(shard.hash_start, shard.hash_end, by_key)
    reader = _Reader(api, shard.shard_id, clock, rng, bounds.max_throttles)
    newest_ms, is_complete = window.start_ms, False
    try:
        for _ in range(bounds.max_calls):
            page = reader.page(window.start_ms)
            before = tally.size_bytes
            for record in page.records:
                tally.add(record)
                newest_ms = max(newest_ms, record.arrived_ms or 0)
            reader.took(len(page.records), tally.size_bytes - before)
            if page.is_shard_end or page.millis_behind == 0:
                is_complete, newest_ms = True, max(newest_ms, api.now_ms())
                break
            if newest_ms >= window.end_ms:  # where as much comes as is read, the tip is never reached
                is_complete = True
                break
            if tally.size_bytes >= bounds.max_bytes:
                break
    except (ThrottledError, IteratorExpiredError):
        if not tally.records:
            return None
    except StreamNotFoundError:
        return None
    return tally.sample(newest_ms - window.start_ms, is_complete=is_complete)
