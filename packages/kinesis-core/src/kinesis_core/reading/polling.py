"""Reads one range of one shard by GetRecords: page after page, each trimmed to the range."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

from attrs import frozen

from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import StreamNotFoundError
from kinesis_core.model import Page, ShardRange
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.range_log import logged
from kinesis_core.reading.record_check import RecordCheck
from kinesis_core.reading.settings import ReadSettings
from kinesis_core.shards import CallCounts, Cursor, ShardCalls

BURST = 2
"""Calls that may follow each other at once."""


@frozen
class PollingRangeReader:
    """Reads ranges by GetRecords, through the API that *api_for* returns for a stream's name."""

    api_for: Callable[[str], StreamApi]
    settings: ReadSettings
    rng: random.Random
    with_data: bool = True
    """Whether the records' data is decoded."""

    def check(self, shard_range: ShardRange, clock: Clock) -> RecordCheck:
        """Return a check for whether records of *shard_range* are still in its shard."""
        return RecordCheck(self._calls(shard_range, clock, CallCounts()))

    def read(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        """
        Return the pages of *shard_range* that have records, in order and trimmed to the range.

        After an expired iterator or a throttle it continues after the last record that it delivered.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            UnavailableError: The range brings nothing for too long, although its records have not expired.
            ServiceError: A call to Kinesis failed for good.
        """
        progress = RangeProgress(shard_range, self.settings.fail_on_data_loss)
        return logged(self.rest(progress, clock), progress, clock)

    def rest(self, progress: RangeProgress, clock: Clock) -> Generator[Page, None, None]:
        """Yield the pages of the part of a range that *progress* has left, as `read` does."""
        settings, calls = self.settings, self._calls(progress.range, clock, progress.counts)
        check, cursor, limit = RecordCheck(calls), Cursor(progress.next_cut), settings.records_per_fetch()
        while not progress.is_done:
            try:
                look = calls.read(cursor, limit, with_data=self.with_data)
            except StreamNotFoundError as error:
                progress.lose(f"Kinesis no longer knows the shard ({error.what})")
                return
            page = look.page
            if page.records:
                limit = settings.records_per_fetch(look.size_bytes / len(page.records))
            progress.take(page)
            is_moving = check.verify(progress)
            cursor = look.rest if is_moving and look.rest else Cursor(progress.next_cut)
            del look
            if page.records:
                yield page
            del page  # it would stay in memory while the next page is read

    def _calls(self, shard_range: ShardRange, clock: Clock, counts: CallCounts) -> ShardCalls:
        return ShardCalls(
            self.api_for(shard_range.stream),
            shard_range.shard_id,
            clock,
            ReadRateLimiter(self.settings.min_fetch_period_s, BURST),
            self.rng,
            stream=shard_range.stream,
            max_rate_bytes=self.settings.max_fetch_rate_bytes,
            counts=counts,
        )
