"""
Looks at one shard from a position: by GetShardIterator and GetRecords, and by more calls only while pages are empty.

The position of a reader names the last record that it has read. The look begins at that record and not after it: if it comes back,
no record after it has expired.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from attrs import define, field, frozen

if TYPE_CHECKING:
    from kinesis_core import Cut
    from kinesis_core.aws import ReadRateLimiter, StreamApi
    from kinesis_core.model import Page, Record

T = TypeVar("T")

MAX_PAGES = 20
"""Pages that are followed while nothing is on them. A gap may be longer, but the quota of the shard is shared."""
PERIOD_S, BURST = 0.25, 4
"""The rate of calls on one shard: its quota of 5 calls a second serves other readers too."""
MAX_THROTTLES = 8
"""In a row. The wait doubles up to 5 s."""


@frozen
class Look:
    """What a shard shows after a position."""

    first: Record | None
    """The first record that was not read."""
    behind_ms: int
    """MillisBehindLatest of the last page, 0 at the end of a closed shard."""
    is_named_left: bool = False
    """Whether the record that the position names is still in the shard."""


@define
class ShardProbe:
    """Makes the calls on one shard, at a bounded rate. Not thread-safe."""

    api: StreamApi
    shard_id: str
    now_s: Callable[[], float]
    sleep: Callable[[float], None]
    rng: random.Random = field(factory=random.Random)
    _limiter: ReadRateLimiter = field(init=False)

    @_limiter.default
    def _make_limiter(self) -> ReadRateLimiter:
        from kinesis_core.aws import ReadRateLimiter

        return ReadRateLimiter(PERIOD_S, BURST)

    def look(self, cut: Cut) -> Look:
        """
        Return what follows *cut*.

        Raises:
            ServiceError: A call failed for good, or the shard was throttled again and again.
        """
        from kinesis_core import After, At

        match cut:
            case After(number):
                return self._look(At(number), number, is_read=lambda _: True)
            case At(number, 0):
                return self._look(At(number), number, is_read=lambda _: False)
            case At(number, skip):
                return self._look(At(number), number, partial(self._has_read, skip), with_data=True)
        return self._look(cut, None, is_read=lambda _: False)

    def oldest(self) -> Record | None:
        """Return the oldest record of the shard; None if none is found on `MAX_PAGES` pages."""
        from kinesis_core import TrimHorizon

        return self.look(TrimHorizon()).first

    def _look(
        self, start: Cut, named: int | None, is_read: Callable[[Record], bool], *, with_data: bool = False
    ) -> Look:
        is_left, behind_ms = False, 0
        for page in self._pages(start, 1 if named is None else 2, with_data=with_data):
            behind_ms = 0 if page.is_shard_end else page.millis_behind
            for record in page.records:
                is_left = is_left or record.number == named
                if record.number != named or not is_read(record):
                    return Look(record, behind_ms, is_left)
        return Look(None, behind_ms, is_left)

    def _pages(self, start: Cut, limit: int, *, with_data: bool) -> Iterator[Page]:
        """Yield pages up to the tip, or the end of the shard, or `MAX_PAGES`."""
        iterator = self._call(partial(self.api.get_iterator, self.shard_id, start))
        for _ in range(MAX_PAGES):
            page = self._call(partial(self.api.get_records, iterator, limit, with_data, self.shard_id))
            yield page
            if page.next_iterator is None or (page.millis_behind == 0 and len(page.records) < limit):
                return
            iterator = page.next_iterator

    def _has_read(self, count: int, record: Record) -> bool:
        """Return whether *record* has no more than *count* user records: a plain record is one."""
        from kinesis_core.aggregation import count_user_records

        return count_user_records(record.data) <= count

    def _call(self, call: Callable[[], T]) -> T:
        from kinesis_core import ThrottledError

        while True:
            self.sleep(self._limiter.wait_s(self.now_s()))
            self._limiter.spend(self.now_s())
            try:
                result = call()
            except ThrottledError:
                self._limiter.throttled(self.now_s(), self.rng)
                if self._limiter.throttles >= MAX_THROTTLES:
                    raise
            else:
                self._limiter.succeeded()
                return result
