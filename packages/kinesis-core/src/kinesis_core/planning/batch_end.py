"""
Where a batch ends in one shard: a real record, found near the tip without reading what lies before it.

Kinesis has no call that tells a shard's last sequence number. But an iterator of type AT_TIMESTAMP together with
Limit=1 returns one record, and that record is an exact end whatever its timestamp says. Arrival times choose where
to look; nothing rests on their being right.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import After, AtTimestamp, Record, ShardOffset
from kinesis_core.planning.probe import GAP_CALLS, READ_ON_BYTES, TIP_LAG_MS, Found, end_at, look, times_back
from kinesis_core.planning.sampling import MAX_PAGE_RECORDS
from kinesis_core.planning.shard_state import ShardState

LOOKS_NEARER = 5
"""Looks half as far ahead as the one before, where that found nothing, before the remainder is read instead."""
SHARD_BYTES_PER_MS = 1024 * 1024 / 1000
"""A shard takes in at most 1 MiB and 1,000 records a second: 1,049 bytes and one record a millisecond."""
PASSING: tuple[type[ServiceError], ...] = (ThrottledError, IteratorExpiredError)
"""Errors that end a plan with what it knows: the next one comes soon, and this shard holds up no other."""
SAMPLED = 0.1
"""The share of plans that look at a busy shard as if nothing was known of it."""
WIDEST = 32
"""How many times the span that can never overflow a batch is stretched where records are sparse."""


@frozen
class Limits:
    """What a batch may hold of one shard. Soft where arrival times mislead, and by one record in bytes; never below one."""

    max_records: int | None = None
    max_bytes: int | None = None

    @property
    def span_ms(self) -> float:
        """The time in which a shard cannot take in more than this."""
        by_records = float("inf") if self.max_records is None else float(self.max_records)
        by_bytes = float("inf") if self.max_bytes is None else self.max_bytes / SHARD_BYTES_PER_MS
        return min(by_records, by_bytes)


def plan_end(view: ShardState, start: ShardOffset, limits: Limits) -> ShardOffset:
    """
    Return where the next batch ends in this shard; *start* itself when nothing is there yet.

    A quiet shard costs one call. A busy one costs two more, whatever lies between; and those two alone, with a record
    each, once a plan has seen that records lie behind its end. A throttle ends the plan with what is known by then;
    before anything is known it is raised. `view.is_ended` tells whether the shard is closed and nothing lies behind
    *start*.
    """
    ahead = _still_busy(view, start, limits)
    if ahead is not None:
        return ahead
    found = look(view, start, _sample_records(view, limits), GAP_CALLS)
    if not found.records:
        return start
    bounded = _within(found, limits)
    if bounded is not None:
        view.keep(bounded.cut, None)
        return bounded
    if found.ended:
        return found.up_to_shard_end()
    if found.at_tip or _is_full(found, limits):
        return found.up_to(found.last)
    try:
        return _beyond(view, found, limits)
    except PASSING:
        return found.up_to(found.last)


def _still_busy(view: ShardState, start: ShardOffset, limits: Limits) -> ShardOffset | None:
    """
    Return an end near the tip of a shard that the last plan left busy; None when it has to be looked at as any other.

    That is so now and then by chance as well: whether a shard is busy still, only a sample of it tells.
    """
    following = view.next_record(start.cut)
    if following is None or view.rng.random() < SAMPLED:
        return None
    first_ms, tip_ms = following.arrived_ms, view.now_ms() - TIP_LAG_MS
    if first_ms is None or not first_ms < tip_ms < first_ms + limits.span_ms:
        return None
    found = Found(
        [following],
        at_tip=False,
        ended=False,
        iterator=None,
        now_ms=view.now_ms(),
        records_per_ms=view.sampling.records_per_ms,
    )
    return end_at(view, found, tip_ms)


def _sample_records(view: ShardState, limits: Limits) -> int:
    return min(view.sampling.sample_records(), limits.max_records or MAX_PAGE_RECORDS)


def _is_full(found: Found, limits: Limits) -> bool:
    return limits.max_records is not None and len(found.records) >= limits.max_records


def _within(found: Found, limits: Limits) -> ShardOffset | None:
    """Return an end inside the found records where they alone exceed the byte limit."""
    if limits.max_bytes is None:
        return None
    total = 0
    for i, record in enumerate(found.records):
        total += len(record.data)
        if total > limits.max_bytes and i > 0:
            return found.up_to(found.records[i - 1])
    return None


def _beyond(view: ShardState, found: Found, limits: Limits) -> ShardOffset:
    """Return an end behind the found records of a shard that holds more."""
    first_ms, last_ms = found.records[0].arrived_ms, found.last.arrived_ms
    if first_ms is None or last_ms is None:
        return _read_on(view, found, limits)
    tip_ms = view.now_ms() - TIP_LAG_MS
    if first_ms + limits.span_ms > tip_ms:
        end = _look_back(view, found, last_ms, tip_ms)
    else:
        end = _catch_up(view, found, first_ms, limits)
    return end or _read_on(view, found, limits)


def _look_back(view: ShardState, found: Found, last_ms: int, tip_ms: int) -> ShardOffset | None:
    """Look near the tip, then further and further back, for a record behind the found ones."""
    empty_ms = tip_ms
    for at_ms in times_back(tip_ms, last_ms):
        shard_offset = end_at(view, found, at_ms)
        if shard_offset is not None:
            return shard_offset
        empty_ms = at_ms
    return _nearer(view, found, last_ms, empty_ms)


def _nearer(view: ShardState, found: Found, last_ms: int, empty_ms: int) -> ShardOffset | None:
    """Look half way, a quarter of the way, ... from the found records to a time from which on nothing came."""
    for attempt in range(1, LOOKS_NEARER + 1):
        at_ms = last_ms + (empty_ms - last_ms) // 2**attempt
        shard_offset = end_at(view, found, at_ms) if at_ms > last_ms else None
        if shard_offset is not None:
            return shard_offset
    return None


def _catch_up(view: ShardState, found: Found, first_ms: int, limits: Limits) -> ShardOffset | None:
    """Look as far ahead as a batch may reach; further where both ends of the span show that records are sparse."""
    span = limits.span_ms
    wide = min(WIDEST * span, _sparse_span_ms(found.records, limits))
    if wide > span and first_ms + wide < view.now_ms() - TIP_LAG_MS:
        far = view.page_at(
            AtTimestamp(int(first_ms + wide)), view.sampling.sample_records(), GAP_CALLS
        ).records
        if far and far[0].number > found.last.number and _sparse_span_ms(far, limits) >= wide:
            return found.up_to(far[0])
    until_ms = int(first_ms + span) - 1  # both milliseconds may have a record
    return end_at(view, found, until_ms) or _nearer(view, found, found.last.arrived_ms or first_ms, until_ms)


def _sparse_span_ms(records: list[Record], limits: Limits) -> float:
    """Return the time in which a batch fills up at the rate that *records* show."""
    first_ms, last_ms = records[0].arrived_ms, records[-1].arrived_ms
    if first_ms is None or last_ms is None or last_ms <= first_ms:
        return 0.0
    passed = last_ms - first_ms
    by_records = passed * (limits.max_records or float("inf")) / len(records)
    read = sum(len(r.data) for r in records)
    by_bytes = passed * (limits.max_bytes or float("inf")) / max(1, read)
    return min(by_records, by_bytes)


def _read_on(view: ShardState, found: Found, limits: Limits) -> ShardOffset:
    """Read a bounded piece of what follows the found records, and end behind it."""
    limit = view.sampling.records_for(min(READ_ON_BYTES, limits.max_bytes or READ_ON_BYTES))
    if limits.max_records is not None:
        limit = min(limit, limits.max_records - len(found.records))
    if found.iterator:
        page = view.read(found.iterator, limit)
    else:
        page = view.next_page(After(found.last.number), limit)
    found = evolve(found, records=[*found.records, *page.records])
    bounded = _within(found, limits)
    if bounded is not None:
        view.keep(bounded.cut, None)
        return bounded
    if page.is_shard_end:
        return found.up_to_shard_end()
    view.keep(After(found.last.number), page.next_iterator)
    return found.up_to(found.last)
