"""
Where a batch ends in one shard: at a real record near the tip, found without reading the records before it.

No call of Kinesis returns a shard's last sequence number. But an iterator of type AT_TIMESTAMP together with Limit=1 returns one
record. That record is an exact end, whatever its timestamp says. Arrival times only choose where to probe.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from kinesis_core.errors import ThrottledError
from kinesis_core.model import MAX_PAGE_RECORDS, After, AtTimestamp, Record, ShardOffset, data_bytes
from kinesis_core.planning.probe import READ_ON_BYTES, TIP_LAG_MS, Found, end_at, find_first, times_back
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.shards import VISIT_PAGES

PROBES_NEARER = 5
"""Probes half as far ahead as the one before, where that found nothing. After these the rest is read instead."""
SAMPLED = 0.1
"""The share of plans that sample a busy shard as if nothing were known of it."""
WIDEST = 32
"""Factor by which the span that can never overflow a batch grows, at most, where records are sparse. Sampled times do not count."""
PROBES_FURTHER = 4
"""Samples on the way where records are so sparse that a batch reaches further than that."""


def plan_end(state: ShardState, start: ShardOffset, limits: Limits) -> ShardOffset:
    """
    Return where the next batch ends in this shard; *start* itself when no record is there yet.

    A quiet shard costs one call. A busy one costs two more, however many records lie between. Once a plan has seen a record
    after its end, the next one costs those two alone, with a record each. A throttle ends the plan with what is known by then;
    before anything is known it is raised. Afterwards `state.is_ended` says whether the shard is closed with nothing after *start*.
    """
    ahead = _still_busy(state, start, limits)
    if ahead is not None:
        return ahead
    found = find_first(state, start, _sample_records(state, limits), VISIT_PAGES)
    if not found.records:
        return start
    bounded = _within(found, limits)
    if bounded is not None:
        state.cache.keep(bounded.cut, None)
        return bounded
    if found.ended:
        return found.up_to_shard_end()
    if found.at_tip or _is_full(found, limits):
        return found.up_to(found.last)
    try:
        return _beyond(state, found, limits)
    except ThrottledError:  # no other shard waits for this one: the next plan comes soon
        return found.up_to(found.last)


def _still_busy(state: ShardState, start: ShardOffset, limits: Limits) -> ShardOffset | None:
    """
    Return an end near the tip of a shard that the last plan left busy; None when it has to be sampled as any other.

    Now and then that is so by chance: only a sample shows whether a shard is still busy.
    """
    following = state.evidence.next_record(start.cut)
    if following is None or state.calls.rng.random() < SAMPLED:
        return None
    first_ms, tip_ms = following.arrived_ms, _now_ms(state, limits) - TIP_LAG_MS
    if first_ms is None or not first_ms < tip_ms < first_ms + limits.span_ms:
        return None
    found = Found(
        [following],
        at_tip=False,
        ended=False,
        rest=None,
        now_ms=state.calls.now_ms(),
        records_per_ms=state.cache.sampling.records_per_ms,
    )
    return end_at(state, found, tip_ms)


def _sample_records(state: ShardState, limits: Limits) -> int:
    return min(state.cache.sampling.sample_records(), limits.max_records or MAX_PAGE_RECORDS)


def _is_full(found: Found, limits: Limits) -> bool:
    is_late = (found.last.arrived_ms or 0) > limits.until_ms
    return is_late or (limits.max_records is not None and len(found.records) >= limits.max_records)


def _now_ms(state: ShardState, limits: Limits) -> int:
    """Return the time up to which a batch looks for records."""
    return int(min(state.calls.now_ms(), limits.until_ms))


def _within(found: Found, limits: Limits) -> ShardOffset | None:
    """Return an end inside the records found, where they alone exceed the byte limit."""
    if limits.max_bytes is None:
        return None
    total = 0
    for i, record in enumerate(found.records):
        total += len(record.data)
        if total > limits.max_bytes and i > 0:
            return found.up_to(found.records[i - 1])
    return None


def _beyond(state: ShardState, found: Found, limits: Limits) -> ShardOffset:
    """Return an end after the records found, in a shard that holds more."""
    first_ms, last_ms = found.records[0].arrived_ms, found.last.arrived_ms
    if first_ms is None or last_ms is None:
        return _read_on(state, found, limits)
    tip_ms = _now_ms(state, limits) - TIP_LAG_MS
    if first_ms + limits.span_ms > tip_ms:
        end = _probe_back(state, found, last_ms, tip_ms)
    else:
        end = _catch_up(state, found, first_ms, limits)
    return end or _read_on(state, found, limits)


def _probe_back(state: ShardState, found: Found, last_ms: int, tip_ms: int) -> ShardOffset | None:
    """Probe near the tip, then further and further back, for a record after those found."""
    empty_ms = tip_ms
    for at_ms in times_back(tip_ms, last_ms):
        shard_offset = end_at(state, found, at_ms)
        if shard_offset is not None:
            return shard_offset
        empty_ms = at_ms
    return _nearer(state, found, last_ms, empty_ms)


def _nearer(state: ShardState, found: Found, last_ms: int, empty_ms: int) -> ShardOffset | None:
    """Probe half way, a quarter of the way, ... from the records found to a time after which no record came."""
    for attempt in range(1, PROBES_NEARER + 1):
        at_ms = last_ms + (empty_ms - last_ms) // 2**attempt
        shard_offset = end_at(state, found, at_ms) if at_ms > last_ms else None
        if shard_offset is not None:
            return shard_offset
    return None


def _catch_up(state: ShardState, found: Found, first_ms: int, limits: Limits) -> ShardOffset | None:
    """Probe as far ahead as a batch may reach; further where samples show that records are sparse."""
    end = _further(state, found, first_ms, limits)
    if end is not None:
        return end
    until_ms = int(first_ms + limits.span_ms) - 1  # both milliseconds may have a record
    return end_at(state, found, until_ms) or _nearer(
        state, found, found.last.arrived_ms or first_ms, until_ms
    )


def _further(state: ShardState, found: Found, first_ms: int, limits: Limits) -> ShardOffset | None:
    """
    Return an end where a batch fills up by the rate of samples on the way, or at the tip; None where records are not sparse.

    The time between the samples is less than `WIDEST` spans, so it cannot hold more than so many times the limit.
    """
    end, span, now_ms = None, limits.span_ms, _now_ms(state, limits)
    sampled_ms = found.last.arrived_ms or first_ms
    fills_ms = first_ms + _sparse_span_ms(found.records, limits)
    if sampled_ms >= first_ms + WIDEST * span:
        return None  # the first sample took longer: reading on goes as far, and counts
    # The records before the tip show their rate in as much time as the first ones.
    tip_ms = now_ms - max(TIP_LAG_MS, sampled_ms - first_ms)
    gap_ms = (WIDEST - 1) * span
    if min(fills_ms, tip_ms) > sampled_ms + gap_ms:
        gap_ms /= PROBES_FURTHER
    for _ in range(PROBES_FURTHER):
        goal_ms = tip_ms if fills_ms >= now_ms else fills_ms
        at_ms = min(goal_ms, sampled_ms + gap_ms)
        if at_ms <= max(first_ms + span, sampled_ms):
            break
        since, limit = AtTimestamp(int(at_ms)), state.cache.sampling.sample_records()
        look = state.page_at(since, limit, VISIT_PAGES)
        far = look.records
        fills_ms = min(fills_ms, first_ms + _sparse_span_ms(far, limits)) if far else 0.0
        if fills_ms < at_ms or far[0].number <= found.last.number:
            break
        state.ends_with(since, look)
        is_whole = fills_ms >= now_ms and look.at_tip
        end = found.up_to(far[-1] if is_whole else far[0])
        if is_whole or at_ms >= goal_ms:
            break
        sampled_ms = far[-1].arrived_ms or sampled_ms
    return end


def _sparse_span_ms(records: Sequence[Record], limits: Limits) -> float:
    """Return the time in which a batch fills up at the rate of *records*."""
    first_ms, last_ms = records[0].arrived_ms, records[-1].arrived_ms
    if first_ms is None or last_ms is None or last_ms <= first_ms:
        return 0.0
    passed = last_ms - first_ms
    by_records = passed * (limits.max_records or float("inf")) / len(records)
    read = data_bytes(records)
    by_bytes = passed * (limits.max_bytes or float("inf")) / max(1, read)
    return min(by_records, by_bytes)


def _read_on(state: ShardState, found: Found, limits: Limits) -> ShardOffset:
    """Read a bounded number of the records that follow those found, and end after them."""
    limit = state.cache.sampling.records_for(min(READ_ON_BYTES, limits.max_bytes or READ_ON_BYTES))
    if limits.max_records is not None:
        limit = min(limit, limits.max_records - len(found.records))
    rest = found.rest
    look = state.read_on(rest, limit) if rest else state.next_page(After(found.last.number), limit)
    found = evolve(found, records=[*found.records, *look.records])
    bounded = _within(found, limits)
    if bounded is not None:
        state.cache.keep(bounded.cut, None)
        return bounded
    if look.is_shard_end:
        return found.up_to_shard_end()
    state.cache.keep(After(found.last.number), look.rest)
    return found.up_to(found.last)
