"""Probes of one shard: the first records after a cut, and one record near a time."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kinesis_core.model import After, AtTimestamp, Estimate, Record, ShardEnd, ShardOffset
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.shards import VISIT_PAGES, Cursor

TIP_LAG_MS = 200
"""How far behind the service's clock the first probe is: close to the tip, and rarely beyond it."""
PROBES_BACK = 5
"""Probes further back in one plan, each 4 times as far: 200 ms to 3 minutes."""
NEAR_END_MS = 5000
"""How exactly the time of a closed shard's last record is known."""
READ_ON_BYTES = 1024 * 1024
"""Bytes that a plan may read, though a task reads them again, to find the last record of a burst."""


@frozen
class Found:
    """The first records after a start, and what is known of what follows them."""

    records: Sequence[Record]
    at_tip: bool
    ended: bool
    rest: Cursor | None
    """Continues after the records; None at the end of the shard."""
    now_ms: int
    """When they were found."""
    records_per_ms: float
    """The approximate rate of the records that follow."""

    @property
    def last(self) -> Record:
        return self.records[-1]

    def up_to(self, record: Record) -> ShardOffset:
        """Return the end after *record*."""
        first, estimate = self.records[0].number, self._estimate(self._count(record))
        return ShardOffset(After(record.number), record.arrived_ms, first, estimate=estimate)

    def up_to_shard_end(self, last: Record | None = None) -> ShardOffset:
        """Return the shard's end, with the time of the *last* known record: the children have no older ones."""
        arrived_ms, estimate = (last or self.last).arrived_ms, self._estimate(len(self.records))
        return ShardOffset(ShardEnd(), arrived_ms, self.records[0].number, estimate=estimate)

    def _count(self, end: Record) -> int:
        """Return the number of records up to *end*: exact up to the last one found, an estimate after it."""
        if end.number == self.last.number:
            return len(self.records)
        if end.number <= self.last.number:
            return self.records.index(end) + 1
        last_ms, end_ms = self.last.arrived_ms, end.arrived_ms
        passed_ms = 0 if last_ms is None or end_ms is None else end_ms - last_ms
        return len(self.records) + max(1, round(passed_ms * self.records_per_ms))

    def _estimate(self, records: int) -> Estimate:
        first_ms = self.records[0].arrived_ms
        return Estimate(records, None if first_ms is None else self.now_ms - first_ms)


def find_first(state: ShardState, start: ShardOffset, limit: int, max_pages: int | None) -> Found:
    """
    Return the first records after *start*, at most *limit*.

    A gap is followed for at most *max_pages* pages; to its end with None, and where the shard crosses gaps.
    """
    calls, cache = state.calls, state.cache
    look, pages = state.next_page(start.cut, limit), 1
    while look.is_in_gap and not state.is_stuck(start.cut) and (calls.crosses_gaps or pages != max_pages):
        look, pages = state.next_page(start.cut, limit), pages + 1
    state.keep_page(look.page)
    if look.records:
        if look.rest is not None:
            cache.keep(look.rest.cut, look.rest)
        since_ms = start.cut.epoch_ms if isinstance(start.cut, AtTimestamp) else start.arrived_ms
        cache.sampling.note_rate(look.records, since_ms)
    rate = cache.sampling.records_per_ms
    return Found(look.records, look.at_tip, look.is_shard_end, look.rest, calls.now_ms(), rate)


def end_at(state: ShardState, found: Found, at_ms: int) -> ShardOffset | None:
    """Return the end after the first record that arrived at *at_ms* or later, if that follows the records found."""
    since, limit = AtTimestamp(at_ms), 2
    look = state.page_at(since, limit, VISIT_PAGES)
    if not look.records:
        if not look.is_shard_end:
            return None
        last = _near_end(state, found, at_ms)
        state.ends_with(ShardEnd(), look)
        return found.up_to_shard_end(last)
    record, *later = look.records
    cut = After(record.number)
    if cut.number <= found.last.number:
        return None
    state.ends_with(since, look)
    state.cache.keep(cut, None if later else look.rest)
    if later:
        state.keep_next(cut, later[0])
    return found.up_to(record)


def _near_end(state: ShardState, found: Found, empty_ms: int) -> Record:
    """
    Return a record after those found that is near the last one of a closed shard, where nothing arrived from *empty_ms* on.

    What follows a shard holds others from about the time of its last record on. So that is looked for once, by halves.
    """
    last, empty_ms = state.cache.near_end or (found.last, empty_ms)
    while last.arrived_ms is not None and empty_ms - last.arrived_ms > NEAR_END_MS:
        at_ms = (last.arrived_ms + empty_ms) // 2
        records = state.page_at(AtTimestamp(at_ms), 1, VISIT_PAGES).records
        if records and (records[0].arrived_ms or 0) >= at_ms:
            last = records[0]
        else:
            empty_ms = at_ms
        state.cache.near_end = last, empty_ms
    return max(last, found.last, key=lambda record: record.number)


def times_back(tip_ms: int, last_ms: int) -> list[int]:
    """Return the times of probes from *tip_ms* back, as far as they are later than *last_ms*."""
    times = (tip_ms - TIP_LAG_MS * (4**attempt - 1) for attempt in range(PROBES_BACK + 1))
    return [at_ms for at_ms in times if at_ms > last_ms]
