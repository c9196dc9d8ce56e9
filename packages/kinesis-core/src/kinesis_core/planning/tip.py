"""Where all that is in one shard now ends, or all up to a place that the user names."""

from __future__ import annotations

from kinesis_core.model import After, At, AtTimestamp, ShardEnd, ShardOffset, is_before
from kinesis_core.planning.probe import READ_ON_BYTES, TIP_LAG_MS, Found, end_at, is_tip, look, times_back
from kinesis_core.planning.sampling import MAX_PAGE_RECORDS
from kinesis_core.planning.shard_state import ShardState

NEAR_MS = 1000
"""So close to the tip, reading on to it takes no longer than looking for a place that is closer still."""


def plan_tip(view: ShardState, start: ShardOffset) -> ShardOffset:
    """
    Return the end of everything that is in the shard now, or *start* when nothing lies behind it.

    Raises:
        ServiceError: Also an `IteratorExpiredError`, and a `ThrottledError` unless the view is patient: try again.
    """
    found = look(view, start, view.sampling.records_for(READ_ON_BYTES), None)
    if not found.records:
        return start
    if found.ended:
        return found.up_to_shard_end()
    near = None if found.at_tip else _nearest(view, found)
    if near is not None and near.cut == ShardEnd():
        return near
    return _read_to_tip(view, found, near)


def plan_until(view: ShardState, start: ShardOffset, until_ms: int) -> ShardOffset:
    """Return the end before the first record that arrived at *until_ms* or later; the tip where there is none."""
    found = look(view, start, 1, None)
    if not found.records:
        return start
    if until_ms > view.now_ms():
        return plan_tip(view, start)  # Kinesis refuses to look for records of the future
    page = view.page_at(AtTimestamp(until_ms), 1, None)
    if not page.records:
        return plan_tip(view, start)
    first, behind = found.records[0].number, page.records[0]
    return ShardOffset(At(behind.number), behind.arrived_ms, first=first) if behind.number > first else start


def plan_up_to(view: ShardState, start: ShardOffset, cut: At | After) -> ShardOffset:
    """Return the end at *cut*, or before the first record behind it where it names none; the tip where there is none."""
    found = look(view, start, 1, None)
    if not found.records or not is_before(found.records[0].number, cut):
        return start
    page = view.page_at(At(cut.number), 1, None)
    if not page.records:
        return plan_tip(view, start)
    record, first = page.records[0], found.records[0].number
    exact = cut if record.number == cut.number else At(record.number)
    return ShardOffset(exact, record.arrived_ms, first=first) if is_before(first, exact) else start


def _nearest(view: ShardState, found: Found) -> ShardOffset | None:
    """Return an end not far before the tip: by looking back from now, then between the two closest times."""
    since_ms, near = found.last.arrived_ms, None
    if since_ms is None:
        return None
    empty_ms = tip_ms = view.now_ms() - TIP_LAG_MS
    for at_ms in times_back(tip_ms, since_ms):
        near = end_at(view, found, at_ms)
        if near is not None:
            since_ms = at_ms
            break
        empty_ms = at_ms
    while empty_ms - since_ms > NEAR_MS:
        at_ms = (since_ms + empty_ms) // 2
        nearer = end_at(view, found, at_ms)
        since_ms, empty_ms = (since_ms, at_ms) if nearer is None else (at_ms, empty_ms)
        near = nearer or near
    return near


def _read_to_tip(view: ShardState, found: Found, near: ShardOffset | None) -> ShardOffset:
    """Read on to the tip, and a page further: a closed shard's end may come on a page of its own."""
    last, at_tip = found.last if near is None else None, found.at_tip
    iterator = found.iterator if near is None else view.iterator_at(near.cut)
    while iterator is not None:
        page = view.read(iterator, MAX_PAGE_RECORDS)
        iterator = page.next_iterator
        last = page.records[-1] if page.records else last
        was_at_tip, at_tip = at_tip, is_tip(page, MAX_PAGE_RECORDS)
        if at_tip and iterator is not None and (was_at_tip or not page.records):
            shard_offset = near if near and last is None else found.up_to(last or found.last)
            view.keep(shard_offset.cut, iterator)
            return shard_offset
    return found.up_to_shard_end(last)
