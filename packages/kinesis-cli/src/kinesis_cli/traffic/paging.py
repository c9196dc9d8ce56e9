"""Reads along one shard in pages of about one size, and leaves most of its read quota to its readers."""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_cli.traffic.tally import size_of
from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.model import AtTimestamp, records_for
from kinesis_core.shards import Cursor, Look, ShardCalls

PERIOD_S = 0.5
"""Between two calls on a shard: 2 of the 5 a second that all its readers share."""
BYTES_PER_S = 1024 * 1024
"""Of the 2 MiB/s that all readers of a shard share."""
PAGE_BYTES = 1024 * 1024
FIRST_RECORDS = 100
"""Records of the first page: their size is not known yet, and each may have 10 MiB."""


@define
class PageReader:
    """One shard, page after page."""

    calls: ShardCalls
    until_ms: int
    """The time where it begins, then that up to which the records were read."""
    page_bytes: int = PAGE_BYTES
    _cursor: Cursor | None = field(default=None, init=False)
    _record_bytes: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._record_bytes = self.page_bytes / FIRST_RECORDS

    @staticmethod
    def of(
        api: StreamApi,
        shard_id: str,
        since_ms: int,
        clock: Clock,
        rng: random.Random,
        max_throttles: float,
        period_s: float = PERIOD_S,
        page_bytes: int = PAGE_BYTES,
    ) -> PageReader:
        """Return a reader of the records since a time. It waits out this many throttles in a row."""
        calls = ShardCalls(
            api,
            shard_id,
            clock,
            ReadRateLimiter(period_s),
            rng,
            max_throttles=max_throttles,
            max_rate_bytes=BYTES_PER_S,
        )
        return PageReader(calls, since_ms, page_bytes)

    def read(self) -> Look:
        """
        Return the next page.

        Raises:
            ThrottledError: Other readers use up the quota.
            StreamNotFoundError: The shard has expired.
        """
        cursor = self._cursor or Cursor(AtTimestamp(self.until_ms))
        look = self.calls.read(cursor, records_for(self.page_bytes, self._record_bytes))
        self._cursor = look.rest
        if look.records:
            self._record_bytes = sum(map(size_of, look.records)) / len(look.records)
        newest_ms = max((record.arrived_ms or 0 for record in look.records), default=0)
        self.until_ms = max(self.until_ms, newest_ms, self.calls.now_ms() if look.is_last else 0)
        return look

    def skip_to(self, since_ms: int, page_bytes: int) -> None:
        """Let the next page begin at *since_ms*, and pages have about *page_bytes*."""
        self.until_ms, self._cursor, self.page_bytes = since_ms, None, page_bytes
