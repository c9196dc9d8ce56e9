"""
Where a KCL continues in a shard that was not read yet, if reading begins at a time: after the last record before that time.

A query begins at a time in three cases: the user gives a time, the start is LATEST and a shard has no new records, or the start
is TRIM_HORIZON, a little after the oldest record. The checkpoint then is the last record that arrived before, so that a KCL
neither repeats what was there nor skips what comes. Where the shard has no such record, it is TRIM_HORIZON: all of its records
must be read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, wait
from functools import partial
from itertools import takewhile

from attrs import define, evolve, field

from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock, StoppableClock
from kinesis_core.errors import ServiceError, UnavailableError
from kinesis_core.leases.lease import ALL_USER_RECORDS, OLDEST, Lease, LeaseCheckpoint
from kinesis_core.model import After, At, AtTimestamp, Cut, Record, TrimHorizon
from kinesis_core.shards import Cursor, ShardCalls
from kinesis_credentials.logs import get_logger

PATIENCE_S = 5.0
"""How long a publication waits for searches. It does without the shards that are not found by then."""
NEAR_MS = 1000
"""This close to the last record, reading on takes no longer than another probe."""
PAGE_RECORDS = 100
PERIOD_S = 0.25
"""Between two calls of GetRecords: most of the quota of 5 a second is left to others for all but the few seconds of a search."""
MAX_THROTTLES = 5
"""Throttles in a row that a search waits out."""

log = get_logger("kinesis_core")
_Start = tuple[str, int]
"""A shard, and the time at which reading begins there."""


@define
class UnreadShards:
    """Searches the shards of one stream. Not thread-safe; it searches in the threads of *pool*."""

    api: StreamApi
    pool: Executor
    clock: Clock
    _seen: set[_Start] = field(factory=set, init=False)
    """What was asked for once. Most shards have been read when the next batch is published, and need no search."""
    _searches: dict[_Start, Future[LeaseCheckpoint]] = field(factory=dict, init=False)
    _is_closed: bool = field(default=False, init=False)

    def settle(self, leases: Iterable[Lease]) -> list[Lease]:
        """
        Return *leases*, with checkpoints instead of AT_TIMESTAMP. One whose checkpoint is not known yet is left out, and so are those
        of its descendants.

        A shard is searched when it is asked for the second time. A search that fails is made again the next time.
        """
        given = list(leases)
        starts = {(lease.shard_id, lease.starting_ms) for lease in given if lease.starting_ms is not None}
        fresh = (starts & self._seen) - set(self._searches)
        self._seen |= starts
        for start in fresh:
            search = partial(last_before, self.api, *start, self.clock, lambda: self._is_closed)
            self._searches[start] = self.pool.submit(search)
        wait([self._searches[start] for start in fresh], PATIENCE_S)
        return self._without_orphans(given)

    def close(self) -> None:
        """Let running searches end at their next call."""
        self._is_closed = True

    def _without_orphans(self, leases: Iterable[Lease]) -> list[Lease]:
        """
        Return the leases whose checkpoints are known, and those of all their ancestors: a KCL does not wait for a parent that has
        no lease. *leases* are in the order of shard ids, which grow from parents to children.
        """
        missing: set[str] = set()
        settled: list[Lease] = []
        for lease in leases:
            found = lease if lease.starting_ms is None else self._found(lease)
            if found is None or not missing.isdisjoint(lease.parents):
                missing.add(lease.shard_id)
            else:
                settled.append(found)
        return settled

    def _found(self, lease: Lease) -> Lease | None:
        start = lease.shard_id, lease.starting_ms or 0
        search = self._searches.get(start)
        if search is None or not search.done():
            return None
        error = search.exception()
        if error is None:
            return evolve(lease, checkpoint=search.result(), starting_ms=None)
        del self._searches[start]
        if not isinstance(error, ServiceError):
            raise error
        log.warning("lease.delayed", lease=lease.key, code=error.code, reason=error)
        return None


def last_before(
    api: StreamApi, shard_id: str, until_ms: int, clock: Clock, is_closed: Callable[[], bool] = lambda: False
) -> LeaseCheckpoint:
    """
    Return the checkpoint of the last record before the first one that arrived at *until_ms* or later.

    Where a gap before it is stuck, it is not found. Then a KCL repeats records, and misses none.

    Raises:
        ServiceError: A call to Kinesis failed after its retries, or is throttled repeatedly.
    """
    stoppable = StoppableClock(clock, is_closed, lambda: UnavailableError("Reading stops.", "STOPPED"))
    record = _Search(_calls(api, shard_id, stoppable), until_ms).last()
    return OLDEST if record is None else LeaseCheckpoint(record.sequence_number, ALL_USER_RECORDS)


def check_number(api: StreamApi, shard_id: str, number: int, clock: Clock) -> None:
    """
    Check that *number* belongs to the shard, even if its record has expired.

    Raises:
        InvalidRequestError: It is not.
        ServiceError: As in `last_before`.
    """
    _calls(api, shard_id, clock).verify(At(number))


def _calls(api: StreamApi, shard_id: str, clock: Clock) -> ShardCalls:
    rng = random.Random()  # noqa: S311 # jitter, not a secret
    return ShardCalls(api, shard_id, clock, ReadRateLimiter(PERIOD_S), rng, max_throttles=MAX_THROTTLES)


@define
class _Search:
    """Halves the time between a record and the end, as long as more than a page of records may be in between."""

    calls: ShardCalls
    until_ms: int

    def last(self) -> Record | None:
        found, is_last = self._look(TrimHorizon())
        if found is None or is_last:
            return found
        low_ms, high_ms = found.arrived_ms or 0, self.until_ms
        while high_ms - low_ms > NEAR_MS:
            middle_ms = (low_ms + high_ms) // 2
            later, is_last = self._look(AtTimestamp(middle_ms))
            if later is None:
                high_ms = middle_ms
            else:
                found = max(found, later, key=lambda record: record.number)
                if is_last:
                    return found
                low_ms = max(middle_ms, later.arrived_ms or 0)
        while True:
            later, is_last = self._look(After(found.number))
            if later is None:
                return found
            found = later
            if is_last:
                return found

    def _look(self, cut: Cut) -> tuple[Record | None, bool]:
        """Return the last record before the end on the first page after *cut* that has records, and whether the end follows it."""
        look = self.calls.first(Cursor(cut), PAGE_RECORDS, with_data=False)
        earlier = list(takewhile(self._is_before, look.records))
        if not earlier:
            return None, True
        return earlier[-1], look.at_tip or look.is_shard_end or len(earlier) < len(look.records)

    def _is_before(self, record: Record) -> bool:
        return record.arrived_ms is not None and record.arrived_ms < self.until_ms
