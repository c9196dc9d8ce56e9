"""Checks whether a record is still in its shard. If it is, no record after it has expired."""

from __future__ import annotations

import random

from attrs import define

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import At, Page

MAX_EMPTY_PAGES = 50
"""Empty pages to follow from the record's sequence number before the record counts as expired."""


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

    def is_left(self, number: int) -> bool:
        """
        Return whether record *number* is still in the shard. Throttles are retried for as long as they last.

        Raises:
            ServiceError: A call to Kinesis failed for good.
        """
        iterator: str | None = None
        empty = 0
        while empty < MAX_EMPTY_PAGES:
            try:
                iterator = iterator or self.api.get_iterator(self.shard_id, At(number))
                page = self._get_page(iterator)
            except IteratorExpiredError as error:
                iterator = None
                log_retry("GetRecords", error.code, 1, 0.0, stream=self.stream, shard=self.shard_id)
                continue
            except ThrottledError as error:
                self._back_off(error)
                continue
            except StreamNotFoundError:
                return False
            if not page.is_in_gap:
                return bool(page.records) and page.records[0].number == number
            iterator, empty = page.next_iterator, empty + 1
        return False

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
