"""ShardCalls: reads one shard page after page, at a rate that leaves its quota to others. Its callers know no iterators."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TypeVar

from attrs import define, field
from msgspec import Struct
from msgspec.structs import replace

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_renewal, log_retry
from kinesis_core.budget import NoRoomError, release, reserve
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import After, Cut, Page, Record, data_bytes, drop_before
from kinesis_core.shards.gaps import NO_GAP, STALLED_PAGES, Gap
from kinesis_core.shards.known import is_known
from kinesis_core.throttled import Throttled

T = TypeVar("T")


class Cursor(Struct, frozen=True, gc=False):
    """Where reading continues in a shard: after *cut*, and in a gap after the empty pages that were read."""

    cut: Cut
    gap: Gap = NO_GAP
    iterator: str | None = None
    """AWS lets it live for 5 minutes. `ShardCalls` makes another one at the cut when it is needed."""


class Look(Struct, frozen=True, gc=False):
    """One page of a shard, and what follows it."""

    page: Page
    """It has no record before the cut that it was read from."""
    at_tip: bool
    """What `is_tip` says of the page as it came."""
    at: Cursor
    """Brings the same page again."""
    rest: Cursor | None
    """Continues after the page; None at the end of a closed shard."""
    size_bytes: int
    """The data of the page as it came; an estimate if it was not decoded."""

    @property
    def records(self) -> Sequence[Record]:
        return self.page.records

    @property
    def is_shard_end(self) -> bool:
        """Whether the shard is closed and nothing follows the page."""
        return self.rest is None

    @property
    def is_last(self) -> bool:
        """Whether nothing follows the page now: it is at the tip, or at the end of a closed shard."""
        return self.at_tip or self.rest is None

    @property
    def is_in_gap(self) -> bool:
        """Whether the page is empty although records may follow it."""
        return not (self.page.records or self.at_tip or self.rest is None)

    def onward(self, max_stalled: int = STALLED_PAGES) -> Cursor | None:
        """
        Return where a search for records continues.

        None if the page has some, if nothing follows it, and after *max_stalled* empty pages in a row that came no closer to the tip.
        """
        is_over = not self.is_in_gap or self.rest is None or self.rest.gap.stalled_pages >= max_stalled
        return None if is_over else self.rest


def is_tip(page: Page, limit: int) -> bool:
    """
    Return whether nothing followed *page*, for which *limit* records were asked, when it was read.

    `MillisBehindLatest` may be 0 on a page with records. A full page may have a successor, even where it is 0.
    """
    return page.millis_behind == 0 and len(page.records) < limit


@define
class CallCounts:
    """How many calls were made, and how many of them were throttled."""

    calls: int = 0
    throttles: int = 0


@define
class ShardCalls:
    """
    The calls on one shard: within its quota, with throttles waited out as far as wanted, and with expired iterators renewed.

    Not thread-safe.
    """

    api: StreamApi
    shard_id: str
    clock: Clock
    limiter: ReadRateLimiter
    rng: random.Random
    stream: str = ""
    """The stream's name in logs."""
    max_throttles: float = math.inf
    """Throttles in a row that are waited out. The next one is raised."""
    max_rate_bytes: float = math.inf
    """Bytes of data a second."""
    crosses_gaps: bool = False
    """Whether gaps are followed to their ends, because no later call is known to continue. Throttles in them are waited out."""
    on_expired: Callable[[], None] = lambda: None
    """Called before an iterator is renewed: the old one may be of a stream that was deleted since."""
    counts: CallCounts = field(factory=CallCounts)
    throttled: Throttled = field(init=False)
    _body_bytes: int | None = field(default=None, init=False)
    """What the next response is expected to have: as much as the last one."""

    def __attrs_post_init__(self) -> None:
        self.throttled = Throttled(self.stream, self.shard_id)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Wait out throttles in this time: a task of many calls would never end if each throttle restarted it."""
        max_throttles, self.max_throttles = self.max_throttles, math.inf
        try:
            yield
        finally:
            self.max_throttles = max_throttles

    @property
    def is_thorough(self) -> bool:
        """Whether what takes many calls has to be done now."""
        return self.max_throttles == math.inf or self.crosses_gaps

    def now_ms(self) -> int:
        """Return the service's clock in milliseconds since the epoch: a lower bound."""
        return self.api.now_ms()

    def wait_s(self) -> float:
        """Return how long to wait before the shard may be read again."""
        return self.limiter.wait_s(self.clock.now_s())

    def read(self, cursor: Cursor, limit: int, *, with_data: bool = True) -> Look:
        """
        Return the page at *cursor* with at most *limit* (1..10,000) records, when the quota allows it.

        Raises:
            ThrottledError: Others use up the quota, or Kinesis calls a new iterator expired. The next call waits longer.
            StreamNotFoundError: Kinesis does not know the shard.
            ServiceError: A call failed after its retries.
        """
        clock, limiter, iterator = self.clock, self.limiter, cursor.iterator
        has_expired = False
        while True:
            clock.sleep(limiter.wait_s(clock.now_s()))
            reserve(self._body_bytes)
            limiter.spend(clock.now_s())
            try:
                if iterator is None:
                    # A call of GetRecords follows each of these, so the rate of those bounds the rate of these.
                    self.counts.calls += 1
                    iterator = self.api.get_iterator(self.shard_id, cursor.cut)
                    if has_expired:
                        log_renewal(self.stream, self.shard_id, cursor.cut)
                self.counts.calls += 1
                page = self.api.get_records(iterator, limit, with_data, self.shard_id)
            except NoRoomError as error:
                release()
                self._body_bytes = error.body_bytes
            except IteratorExpiredError as error:
                if has_expired:
                    refusal = ThrottledError(
                        error.what, error.code, error.request_id, error.advice, **error.where
                    )
                    self._back_off("GetRecords", refusal)
                else:
                    self.on_expired()
                    self._log_retry("GetRecords", error, 1)
                release()
                iterator, has_expired = None, True
            except ThrottledError as error:
                release()  # the wait may be long, and others could use the bytes
                call = "GetShardIterator" if iterator is None else "GetRecords"
                self._back_off(call, error, is_waited_out=self.crosses_gaps and cursor.gap != NO_GAP)
            else:
                self._body_bytes = page.body_bytes
                if not page.records:
                    release()
                at = cursor if iterator is cursor.iterator else replace(cursor, iterator=iterator)
                return self._look(at, page, limit)

    def cross(self, cursor: Cursor, limit: int, *, with_data: bool = True) -> Iterator[Look]:
        """Yield the pages from *cursor* on, up to the first one that is not in a gap or after which the gap is stuck."""
        rest: Cursor | None = cursor
        while rest is not None:
            look = self.read(rest, limit, with_data=with_data)
            yield look
            rest = look.onward()

    def first(
        self, cursor: Cursor, limit: int, max_pages: int | None = None, *, with_data: bool = True
    ) -> Look:
        """Return the last page of `cross`, or its page number *max_pages* if that comes first."""
        *_, look = islice(self.cross(cursor, limit, with_data=with_data), max_pages)
        return look

    def verify(self, cut: Cut) -> None:
        """
        Check that Kinesis can read the shard from *cut*.

        Raises:
            InvalidRequestError: The cut names a number of another shard or stream.
            StreamNotFoundError: Kinesis does not know the shard.
            ServiceError: As for `read`.
        """
        self._wait_out(partial(self.api.get_iterator, self.shard_id, cut))

    def is_known(self) -> bool:
        """Return what `is_known` does. Throttles are waited out."""
        with self.patiently():
            return self._wait_out(partial(is_known, self.api, self.shard_id))

    def _wait_out(self, get_iterator: Callable[[], T]) -> T:
        while True:
            try:
                return get_iterator()
            except ThrottledError as error:
                self._back_off("GetShardIterator", error)
                self.clock.sleep(self.wait_s())

    def _look(self, cursor: Cursor, page: Page, limit: int) -> Look:
        if self.limiter.throttles:
            self.limiter.succeeded()
            self.throttled.clear()
        at_tip, size_bytes, cut = is_tip(page, limit), 0, cursor.cut
        if page.records:
            # Data is base64 in a body, and not decoded where the records have none.
            size_bytes = data_bytes(page.records) or page.body_bytes * 3 // 4
            drop_before(page, cut)
        if self.max_rate_bytes != math.inf:
            self.limiter.rest(self.clock.now_s() + size_bytes / self.max_rate_bytes)
        if page.next_iterator is None:
            return Look(page, at_tip, cursor, None, size_bytes)
        gap = NO_GAP
        if page.records:
            cut = After(page.records[-1].number)
        elif not at_tip:
            gap = cursor.gap.after(page)
        return Look(page, at_tip, cursor, Cursor(cut, gap, page.next_iterator), size_bytes)

    def _back_off(self, call: str, error: ThrottledError, *, is_waited_out: bool = False) -> None:
        """Make the next call wait longer; raise *error* after too many in a row."""
        now_s = self.clock.now_s()
        self.counts.throttles += 1
        self.limiter.throttled(now_s, self.rng)
        self.throttled.refused(now_s)
        self._log_retry(call, error, self.limiter.throttles)
        if self.limiter.throttles > self.max_throttles and not is_waited_out:
            raise error

    def _log_retry(self, call: str, error: ServiceError, attempt: int) -> None:
        log_retry(call, error.code, attempt, self.wait_s(), stream=self.stream, shard=self.shard_id)
