"""Reads one range of one shard by GetRecords: page after page, each trimmed to the range."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

from attrs import define, field, frozen

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_renewal, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, ServiceError, StreamNotFoundError, ThrottledError
from kinesis_core.model import Page, ShardRange, TrimHorizon, data_bytes
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.range_log import logged
from kinesis_core.reading.record_check import RecordCheck
from kinesis_core.reading.settings import ReadSettings


@define
class PollingReader:
    """Reads one range. After an expired iterator or a throttle it continues after the last record that it delivered."""

    api: StreamApi
    range: ShardRange
    settings: ReadSettings
    clock: Clock
    rng: random.Random
    with_data: bool = True
    _limiter: ReadRateLimiter = field(init=False)
    progress: RangeProgress = field()
    _check: RecordCheck = field(init=False)
    _limit: int = field(init=False)
    _iterator: str | None = field(default=None, init=False)
    _has_expired: bool = field(default=False, init=False)
    _moved_s: float = field(init=False)
    """When the last page came that had records or made progress."""

    @progress.default
    def _begin(self) -> RangeProgress:
        return RangeProgress(self.range, self.settings.fail_on_data_loss)

    def __attrs_post_init__(self) -> None:
        self._limit = self.settings.records_per_fetch()
        self._limiter = ReadRateLimiter(self.settings.min_fetch_period_s, burst=2)
        self._check = RecordCheck(
            self.api, self.range.stream, self.range.shard_id, self.clock, self.rng, self._limiter
        )
        self._moved_s = self.clock.now_s()

    def pages(self) -> Generator[Page, None, None]:
        """
        Yield the pages of the range that have records, in order and trimmed to the range.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            UnavailableError: The range brings nothing for too long, although its records have not expired.
            ServiceError: A call to Kinesis failed for good.
        """
        while not self.progress.is_done:
            page = self._fetch()
            if page is None:
                return
            page.records = self.progress.take(page)
            self._look_into_stall()
            self._prove()
            if page.records:
                yield page

    def _look_into_stall(self) -> None:
        """Wait where the range makes no progress, if nothing is lost, and continue with a new iterator."""
        if self.progress.is_stalled:
            self._check.look_into(self.progress, self._moved_s)
            self._iterator = None
        elif not self.progress.idle_pages:
            self._moved_s = self.clock.now_s()
            self._check.stall.ends()

    def _prove(self) -> None:
        """Verify that no record expired before this page was read. Only a check after the page can show that."""
        number = self.progress.to_prove(self.api.now_ms())
        if number is not None:
            self.progress.prove(is_left=self._check.is_left(number))

    def _fetch(self) -> Page | None:
        """
        Return the next page; None when the shard has expired.

        It waits for the shard's quota, retries throttles for as long as they last, and renews an expired iterator.
        """
        while True:
            self.clock.sleep(self._limiter.wait_s(self.clock.now_s()))
            self._limiter.spend(self.clock.now_s())
            try:
                page = self._ask()
            except IteratorExpiredError as error:
                self._iterator, self._has_expired = None, True
                self._log_retry("GetRecords", error, 1)
            except ThrottledError as error:
                self._limiter.throttled(self.clock.now_s(), self.rng)
                self.progress.throttles += 1
                call = "GetShardIterator" if self._iterator is None else "GetRecords"
                self._log_retry(call, error, self._limiter.throttles)
            except StreamNotFoundError as error:
                self.progress.lose(f"Kinesis no longer knows the shard ({error})")
                return None
            else:
                self._limiter.succeeded()
                size_bytes = self._size_bytes(page)
                self._limiter.rest(self.clock.now_s() + size_bytes / self.settings.max_fetch_rate_bytes)
                if page.records:
                    self._limit = self.settings.records_per_fetch(size_bytes / len(page.records))
                self._iterator = page.next_iterator
                return page

    def _ask(self) -> Page:
        shard_id = self.range.shard_id
        if self._iterator is None:
            cut = TrimHorizon() if self.progress.is_lost else self.progress.reached
            self.progress.calls += 1
            self._iterator = self.api.get_iterator(shard_id, cut)
            if self._has_expired:
                log_renewal(self.range.stream, shard_id, cut)
                self._has_expired = False
        self.progress.calls += 1
        return self.api.get_records(self._iterator, self._limit, self.with_data, shard_id)

    def _log_retry(self, call: str, error: ServiceError, attempt: int) -> None:
        wait_s = self._limiter.wait_s(self.clock.now_s())
        log_retry(call, error.code, attempt, wait_s, stream=self.range.stream, shard=self.range.shard_id)

    def _size_bytes(self, page: Page) -> int:
        """Return the bytes that count against the shard's rate: the size of the data, an estimate if it was not decoded."""
        if self.with_data:
            return data_bytes(page.records)
        return page.body_bytes * 3 // 4  # data is base64


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
        limiter = ReadRateLimiter(self.settings.min_fetch_period_s, burst=2)
        return RecordCheck(
            self.api_for(shard_range.stream),
            shard_range.stream,
            shard_range.shard_id,
            clock,
            self.rng,
            limiter,
        )

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
