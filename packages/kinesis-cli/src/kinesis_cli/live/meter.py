"""
How much is written to one shard, seen by reading along.

It reads at most a page of 256 KiB per call. Where more comes, it skips to the tip, and the rate is that of the time that it has
read. So it leaves most of the shard's quota to its readers, also while the shard is hot.
"""

from __future__ import annotations

import random
import threading
from collections import deque

from attrs import define, field, frozen

from kinesis_cli.traffic import Sample
from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import AtTimestamp, Page, Shard

PAGE_BYTES = 256 * 1024
FIRST_MS = 5000
"""How far back it begins, so that there is a rate at once."""
BEHIND_MS = 3000
"""So far behind the tip it skips to the tip."""
SKIP_MS = 1000
REMEMBERED_MS = 10_000
"""The rate is that of this time."""
_FIRST_RECORDS = 100
_MAX_RECORDS = 10_000
_SHORTEST_MS = 1000


@frozen
class _Seen:
    at_ms: int
    covered_ms: int
    records: int
    size_bytes: int


@define
class ShardMeter:
    """Reads along one open shard."""

    api: StreamApi
    shard: Shard
    clock: Clock
    rng: random.Random
    period_s: float = 1.0
    has_ended: bool = field(default=False, init=False)
    """Whether the shard was split or merged, or has expired."""
    _limiter: ReadRateLimiter = field(init=False)
    _iterator: str | None = field(default=None, init=False)
    _until_ms: int = field(default=0, init=False)
    """Up to where the records were counted."""
    _record_bytes: float = field(default=PAGE_BYTES / _FIRST_RECORDS, init=False)
    _seen: deque[_Seen] = field(factory=deque, init=False)
    _is_polled: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    @_limiter.default
    def _make_limiter(self) -> ReadRateLimiter:
        return ReadRateLimiter(self.period_s)

    def poll(self) -> None:
        """
        Read what has come since the last call, if the shard may be read again and no other thread is about to.

        Raises:
            ServiceError: A call failed for good.
        """
        if not self._is_polled.acquire(blocking=False):
            return  # after an error of another shard, calls go on that nobody waits for
        try:
            self._poll()
        finally:
            self._is_polled.release()

    def _poll(self) -> None:
        now_s = self.clock.now_s()
        if self.has_ended or self._limiter.wait_s(now_s):
            return
        self._limiter.spend(now_s)
        try:
            page = self._page()
        except ThrottledError:
            self._limiter.throttled(now_s, self.rng)
        except IteratorExpiredError:
            self._iterator = None
        except StreamNotFoundError:
            self.has_ended = True
        else:
            self._limiter.succeeded()
            self._take(page)

    def sample(self) -> Sample | None:
        """Return the latest records; None if nothing was read lately."""
        oldest_ms = self.api.now_ms() - REMEMBERED_MS
        latest = [seen for seen in tuple(self._seen) if seen.at_ms >= oldest_ms]
        if not latest:
            return None
        records = sum(seen.records for seen in latest)
        covered_ms = max(_SHORTEST_MS, sum(seen.covered_ms for seen in latest))
        return Sample(records, records, sum(seen.size_bytes for seen in latest), covered_ms)

    def _page(self) -> Page:
        if self._iterator is None:
            back_ms = SKIP_MS if self._until_ms else FIRST_MS
            self._until_ms = max(self._until_ms, self.api.now_ms() - back_ms)
            self._iterator = self.api.get_iterator(self.shard.shard_id, AtTimestamp(self._until_ms))
        limit = max(1, min(_MAX_RECORDS, int(PAGE_BYTES / self._record_bytes)))
        page = self.api.get_records(self._iterator, limit, shard_id=self.shard.shard_id)
        self._iterator = page.next_iterator
        return page

    def _take(self, page: Page) -> None:
        now_ms = self.api.now_ms()
        size_bytes = sum(len(one.data) + len((one.partition_key or "").encode()) for one in page.records)
        if page.records:
            self._record_bytes = max(1.0, size_bytes / len(page.records))
        newest_ms = max((one.arrived_ms or 0 for one in page.records), default=self._until_ms)
        is_tip = page.is_shard_end or page.millis_behind == 0
        until_ms = max(self._until_ms, newest_ms, now_ms if is_tip else 0)
        while self._seen and self._seen[0].at_ms < now_ms - REMEMBERED_MS:
            self._seen.popleft()
        self._seen.append(_Seen(now_ms, until_ms - self._until_ms, len(page.records), size_bytes))
        self._until_ms = until_ms
        self.has_ended = page.is_shard_end
        if not is_tip and now_ms - until_ms > BEHIND_MS and page.records:
            self._iterator = None
