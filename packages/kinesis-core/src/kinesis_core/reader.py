"""Reads exactly one range of one shard: page after page, each trimmed to the range."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attrs import define, field, frozen

from kinesis_core.clock import Clock
from kinesis_core.cuts import After, At, TrimHorizon, is_before, is_behind
from kinesis_core.errors import DataLossError, IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.logs import get_logger
from kinesis_core.pace import Pace
from kinesis_core.pages import Page, Record
from kinesis_core.ranges import ShardRange
from kinesis_core.stream_api import StreamApi

log = get_logger("kinesis_core")

PATIENCE = 50
"""Answers in a row that bring a range no further before its missing end is called data loss."""


@frozen
class ReadSettings:
    """How a range is read. Rates are per shard."""

    max_records_per_fetch: int = 10_000
    min_fetch_period_s: float = 0.2
    max_fetch_rate_bytes: float = 2_000_000.0
    """Bytes a second; Kinesis serves 2 MiB/s per shard to all polling readers together."""
    threads: int = 8
    """Chains of one task that are read at once."""
    fail_on_data_loss: bool = True


@define
class RangeReader:
    """Reads one range. Whatever interrupts it, it goes on behind the last record that it delivered."""

    api: StreamApi
    range: ShardRange
    settings: ReadSettings
    clock: Clock
    rng: random.Random
    with_data: bool = True
    _pace: Pace = field(init=False)
    _reached: At | After = field(init=False)
    _iterator: str | None = field(default=None, init=False)
    _idle: int = field(default=0, init=False)
    _behind_ms: int = field(default=-1, init=False)
    _is_lost: bool = field(default=False, init=False)
    """Whether there is no way on from `_reached`, so that reading goes on at the oldest record."""
    _is_given_up: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._pace = Pace(self.settings.min_fetch_period_s, burst=2)
        self._reached = self.range.start

    def pages(self) -> Iterator[Page]:
        """
        Yield the pages of the range that have records, in order and trimmed to it.

        Raises:
            DataLossError: A record that the range names is gone (unless `fail_on_data_loss` is off).
            ServiceError: Kinesis said no for good.
        """
        is_last = False
        while not (is_last or self._is_given_up):
            page = self._fetch()
            is_last = page.is_shard_end or self._is_end_in(page)
            self._check(page, is_last)
            page.records = self._trimmed(page.records)
            if page.records:
                yield page

    def _fetch(self) -> Page:
        """Return the next page; wait for the shard's quota, through throttles, and renew the iterator as needed."""
        while True:
            self.clock.sleep(self._pace.wait_s(self.clock.now_s()))
            self._pace.spend(self.clock.now_s())
            try:
                cut = TrimHorizon() if self._is_lost else self._reached
                self._iterator = self._iterator or self.api.get_iterator(self.range.shard_id, cut)
                page = self.api.get_records(
                    self._iterator, self.settings.max_records_per_fetch, self.with_data
                )
            except IteratorExpiredError:
                log.info("iterator.renewed", stream=self.range.stream, shard=self.range.shard_id)
                self._iterator = None
            except ThrottledError as error:
                log.info(
                    "call.retried", stream=self.range.stream, shard=self.range.shard_id, reason=error.code
                )
                self._pace.throttled(self.clock.now_s(), self.rng)
            except StreamNotFoundError as error:
                self._lost(f"Kinesis no longer knows the shard ({error})")
                return Page([], 0, None)
            else:
                self._pace.succeeded()
                self._pace.rest(
                    self.clock.now_s() + self._size_bytes(page) / self.settings.max_fetch_rate_bytes
                )
                self._iterator = page.next_iterator
                return page

    def _size_bytes(self, page: Page) -> int:
        """Return what counts against the shard's rate: the data, or about as much where it was left undecoded."""
        if self.with_data:
            return sum(len(record.data) for record in page.records)
        return page.body_bytes * 3 // 4  # data is base64

    def _is_end_in(self, page: Page) -> bool:
        end = self.range.end
        return isinstance(end, (At, After)) and bool(page.records) and page.records[-1].number >= end.number

    def _check(self, page: Page, is_last: bool) -> None:
        """See that the records which the range names are really there, and that reading gets on."""
        end = self.range.end
        if page.records:
            self._idle, self._behind_ms = 0, -1
            self._check_first(page.records[0])
        if is_last and isinstance(end, (At, After)) and not _contains(page.records, end.number):
            self._lost(f"record {end.number}, which ends the range, is not there")
        if not page.records and not is_last:
            self._check_progress(page)

    def _check_first(self, record: Record) -> None:
        if isinstance(self._reached, At) and record.number > self._reached.number:
            self._lost(
                f"record {self._reached.number}, which begins the range, is not there; the oldest left is {record.sequence_number}"
            )

    def _check_progress(self, page: Page) -> None:
        """An empty page is fine while the iterator moves through a gap; one that stays where it is has lost its place."""
        moves = 0 < page.millis_behind < self._behind_ms
        self._idle = 0 if moves else self._idle + 1
        self._behind_ms = page.millis_behind
        if self._idle > PATIENCE:
            self._lost(f"{PATIENCE} answers in a row brought no record and no progress")
            self._is_given_up = self._is_lost  # the oldest record is not to be had either
            self._is_lost, self._iterator, self._idle = True, None, 0

    def _trimmed(self, records: list[Record]) -> list[Record]:
        """Return what lies in the range and was not delivered before."""
        if not records:
            return records
        if not (
            is_behind(records[0].number, self._reached) and is_before(records[-1].number, self.range.end)
        ):
            records = [
                r
                for r in records
                if is_behind(r.number, self._reached) and is_before(r.number, self.range.end)
            ]
        if records:
            self._reached, self._is_lost = After(records[-1].number), False
        return records

    def _lost(self, what: str) -> None:
        stream, shard = self.range.stream, self.range.shard_id
        if self.settings.fail_on_data_loss:
            raise DataLossError(
                f"Records of this batch are lost: {what}. Set failOnDataLoss=false to go on with what is left. "
                f"[stream={stream} shard={shard} range={self.range.start}..{self.range.end}]"
            )
        log.warning("data.lost", reason=what, stream=stream, shard=shard)


def _contains(records: list[Record], number: int) -> bool:
    return any(record.number == number for record in reversed(records))
