"""Reads one range of one shard by GetRecords: page after page, each trimmed to the range."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

from attrs import define, field, frozen

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


@define
class PollingReader:
    """Reads one range. After an expired iterator or a throttle it continues after the last record that it delivered."""

    api: StreamApi
    range: ShardRange
    settings: ReadSettings
    clock: Clock
    rng: random.Random
    with_data: bool = True
    progress: RangeProgress = field()

    @progress.default
    def _begin(self) -> RangeProgress:
        return RangeProgress(self.range, self.settings.fail_on_data_loss)

    def pages(self) -> Generator[Page, None, None]:
        """
        Yield the pages of the range that have records, in order and trimmed to the range.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            UnavailableError: The range brings nothing for too long, although its records have not expired.
            ServiceError: A call to Kinesis failed after its retries.
        """
        progress, settings = self.progress, self.settings
        calls = calls_on(self.api, self.range, settings, self.clock, self.rng, progress.counts)
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
            if page.records:
                yield page


def calls_on(
    api: StreamApi,
    shard_range: ShardRange,
    settings: ReadSettings,
    clock: Clock,
    rng: random.Random,
    counts: CallCounts | None = None,
) -> ShardCalls:
    """Return the calls of a task on the shard of a range."""
    limiter = ReadRateLimiter(settings.min_fetch_period_s, BURST)
    return ShardCalls(
        api,
        shard_range.shard_id,
        clock,
        limiter,
        rng,
        stream=shard_range.stream,
        max_rate_bytes=settings.max_fetch_rate_bytes,
        counts=counts or CallCounts(),
    )


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
        api = self.api_for(shard_range.stream)
        return RecordCheck(calls_on(api, shard_range, self.settings, clock, self.rng))

    def read(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        """Return the pages of *shard_range* that have records, in order and trimmed to the range."""
        progress = RangeProgress(shard_range, self.settings.fail_on_data_loss)
        return logged(self.rest(progress, clock), progress, clock)

    def rest(self, progress: RangeProgress, clock: Clock) -> Generator[Page, None, None]:
        """Return the pages of the part of a range that *progress* has left."""
        api = self.api_for(progress.range.stream)
        reader = PollingReader(
            api, progress.range, self.settings, clock, self.rng, self.with_data, progress=progress
        )
        return reader.pages()
