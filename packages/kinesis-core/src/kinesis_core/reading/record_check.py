"""
Checks whether a record is still in its shard. If it is, no record after it has expired.

An empty page does not show it. The oldest record of the shard does so as well. While neither can be read, the check waits.
"""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import At, Cut, Page, TrimHorizon
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.shards import STALLED_PAGES, Stall

FEW_PAGES = 5
"""Empty pages that a look follows while a range makes no progress: it is read again after that."""


@define
class _Search:
    """A search for the first record after a cut."""

    cut: Cut
    iterator: str | None = None
    behind_ms: int = -1
    """MillisBehindLatest of the last page."""
    moves: bool = False
    """Whether the last page was closer to the tip than the one before."""


@define
class RecordCheck:
    """
    Reads single records of one shard, with a GetShardIterator and a GetRecords call each.

    Kinesis trims a shard from its oldest record on.
    """

    api: StreamApi
    stream: str
    """The stream's name in logs."""
    shard_id: str
    clock: Clock
    rng: random.Random
    limiter: ReadRateLimiter
    stall: Stall = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stall = Stall(self.stream, self.shard_id)

    def is_left(self, number: int) -> bool:
        """
        Return whether record *number* is still in the shard. Throttles are retried for as long as they last.

        Raises:
            UnavailableError: Neither that record nor the oldest one can be read for too long.
            ServiceError: A call to Kinesis failed for good.
        """
        since_s = self.clock.now_s()
        while (is_left := self._look_for(number, STALLED_PAGES)) is None:
            self.stall.goes_on(At(number), STALLED_PAGES, since_s, self.clock.now_s())
        return is_left

    def look_into(self, progress: RangeProgress, since_s: float) -> None:
        """
        Look why a range has made no progress since a time: its records have expired, or it has to wait.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            UnavailableError: They have not, as far as can be seen, and it has waited for too long.
        """
        if not progress.is_lost and self._look_for(progress.reached.number, FEW_PAGES) is False:
            progress.lose_stalled()
        else:
            self.stall.goes_on(progress.reached, progress.idle_pages, since_s, self.clock.now_s())

    def _look_for(self, number: int, pages: int) -> bool | None:
        """Return whether record *number* is still in the shard; None after so many empty *pages* in a row without progress."""
        named, oldest = _Search(At(number)), _Search(TrimHorizon())
        empty = 0
        try:
            while empty < pages:
                page = self._next_page(named)
                if not page.is_in_gap:
                    return bool(page.records) and page.records[0].number == number
                page = self._next_page(oldest)
                if not page.is_in_gap:
                    return bool(page.records) and page.records[0].number <= number
                empty = 0 if named.moves or oldest.moves else empty + 1
        except StreamNotFoundError:
            return False
        return None

    def _next_page(self, search: _Search) -> Page:
        """Return the next page of *search*, an empty one in a gap."""
        while True:
            try:
                search.iterator = search.iterator or self.api.get_iterator(self.shard_id, search.cut)
                page = self._get_page(search.iterator)
            except IteratorExpiredError as error:
                search.iterator = None
                log_retry("GetRecords", error.code, 1, 0.0, stream=self.stream, shard=self.shard_id)
            except ThrottledError as error:
                self._back_off(error)
            else:
                search.moves = 0 < page.millis_behind < search.behind_ms
                search.iterator, search.behind_ms = page.next_iterator, page.millis_behind
                return page

    def _get_page(self, iterator: str) -> Page:
        """Wait for the shard's quota, then return the page of one record."""
        self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))
        self.limiter.spend(self.clock.now_s())
        page = self.api.get_records(iterator, 1, False, self.shard_id)
        self.limiter.succeeded()
        return page

    def _back_off(self, error: ThrottledError) -> None:
        now_s = self.clock.now_s()
        self.limiter.throttled(now_s, self.rng)
        wait_s = self.limiter.wait_s(now_s)
        log_retry(
            "GetRecords", error.code, self.limiter.throttles, wait_s, stream=self.stream, shard=self.shard_id
        )
        self.clock.sleep(wait_s)
