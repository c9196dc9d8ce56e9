"""Where the records in one shard end now, or those up to a cut or time that the user names."""

from __future__ import annotations

from kinesis_core.model import (
    CLOCK_MARGIN_MS,
    MAX_PAGE_RECORDS,
    After,
    At,
    AtTimestamp,
    ShardEnd,
    ShardOffset,
    is_before,
)
from kinesis_core.planning.probe import READ_ON_BYTES, TIP_LAG_MS, Found, end_at, find_first, times_back
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.shards import Cursor, ShardCalls

NEAR_MS = 1000
"""This close to the tip, reading on takes no longer than another probe."""


def plan_tip(state: ShardState, start: ShardOffset) -> ShardOffset:
    """
    Return the end of all records that are in the shard now, or *start* when none follow it.

    Raises:
        ServiceError: Also a `ThrottledError`, unless throttles are waited out: try again.
    """
    found = find_first(state, start, state.cache.sampling.records_for(READ_ON_BYTES), None)
    if not found.records:
        return start
    if found.ended:
        return found.up_to_shard_end()
    near = None if found.at_tip else _nearest(state, found)
    if near is not None and near.cut == ShardEnd():
        return near
    return _read_to_tip(state, found, near)


def plan_until(state: ShardState, start: ShardOffset, until_ms: int) -> ShardOffset:
    """Return the end before the first record that arrived at *until_ms* or later; the tip where none did."""
    found = find_first(state, start, 1, None)
    if not found.records:
        return start
    if not _reaches(state.calls, until_ms):
        return plan_tip(state, start)  # Kinesis refuses times in the future
    since = AtTimestamp(until_ms)
    page = state.first_page(since)
    if not page.records:
        tip = plan_tip(state, start)
        page = state.first_page(since)  # records that arrived since then are after the end
        if not page.records:
            return tip
    state.ends_with(since, page)
    first, following = found.records[0].number, page.records[0]
    if following.number <= first:
        return start
    return ShardOffset(At(following.number), following.arrived_ms, first=first)


def plan_up_to(state: ShardState, start: ShardOffset, cut: At | After) -> ShardOffset:
    """Return the end at *cut*, or before the first record after it where it names no record; the tip where no record follows."""
    found = find_first(state, start, 1, None)
    if not found.records or not is_before(found.records[0].number, cut):
        return start
    page = state.first_page(At(cut.number))
    if not page.records:
        return plan_tip(state, start)
    state.ends_with(At(cut.number), page)
    record, first = page.records[0], found.records[0].number
    exact = cut if record.number == cut.number else At(record.number)
    return ShardOffset(exact, record.arrived_ms, first=first) if is_before(first, exact) else start


def _reaches(calls: ShardCalls, epoch_ms: int) -> bool:
    """
    Wait until the service's clock has reached *epoch_ms*, if that is soon. Return whether it has.

    The clock that is known is a lower bound. So a time that seems to be soon may have passed, and records may be after it.
    """
    ahead_ms = epoch_ms - calls.now_ms()
    if ahead_ms > CLOCK_MARGIN_MS:
        return False
    calls.clock.sleep(max(0, ahead_ms) / 1000)
    return True


def _nearest(state: ShardState, found: Found) -> ShardOffset | None:
    """Return an end shortly before the tip: by probes back from now, then between the two closest times."""
    since_ms, near = found.last.arrived_ms, None
    if since_ms is None:
        return None
    empty_ms = tip_ms = state.calls.now_ms() - TIP_LAG_MS
    for at_ms in times_back(tip_ms, since_ms):
        near = end_at(state, found, at_ms)
        if near is not None:
            since_ms = at_ms
            break
        empty_ms = at_ms
    while empty_ms - since_ms > NEAR_MS:
        at_ms = (since_ms + empty_ms) // 2
        nearer = end_at(state, found, at_ms)
        since_ms, empty_ms = (since_ms, at_ms) if nearer is None else (at_ms, empty_ms)
        near = nearer or near
    return near


def _read_to_tip(state: ShardState, found: Found, near: ShardOffset | None) -> ShardOffset:
    """
    Read on to the tip, and one page further: the end of a closed shard may come on a separate page.

    Where pages stay empty from some cut on, return that: `state.is_stuck` tells.
    """
    last, at_tip = found.last if near is None else None, found.at_tip
    rest = found.rest if near is None else Cursor(near.cut)
    while rest is not None:
        look = state.read_on(rest, MAX_PAGE_RECORDS)
        rest = look.rest
        if look.records:
            last = look.records[-1]
        was_at_tip, at_tip = at_tip, look.at_tip
        is_over = at_tip and (was_at_tip or not look.records)
        if rest is not None and (is_over or state.is_stuck(rest.cut)):
            shard_offset = near if near and last is None else found.up_to(last or found.last)
            state.cache.keep(shard_offset.cut, rest)
            return shard_offset
    return found.up_to_shard_end(last)
