"""
Where a batch ends in one shard: a real record, found near the tip without reading what lies before it.

Kinesis has no call that tells a shard's last sequence number. But an iterator of type AT_TIMESTAMP together with
Limit=1 returns one record, and that record is an exact end whatever its timestamp says. Arrival times choose where
to look; nothing rests on their being right.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kinesis_core.cuts import After, At, AtTimestamp, ShardEnd, is_before
from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.offsets import Position
from kinesis_core.pages import Page, Record
from kinesis_core.shard_view import MAX_PAGE_RECORDS, ShardView

TIP_LAG_MS = 200
"""How far behind the service's clock the first look is taken: close to the tip, yet rarely beyond it."""
LOOKS_BACK = 5
"""Looks further back, each 4 times as far, in one plan: 200 ms to 3 minutes."""
LOOKS_NEARER = 5
"""Looks half as far ahead as the one before, where that found nothing, before the remainder is read instead."""
NEAR_MS = 1000
"""So close to the tip, reading on to it takes no longer than looking for a place that is closer still."""
GAP_CALLS = 4
"""Empty pages followed in one plan, so that one long gap never holds up the other shards."""
READ_ON_BYTES = 1024 * 1024
"""What a plan may read twice to find the last record of a burst."""
SHARD_BYTES_PER_MS = 1024 * 1024 / 1000
"""A shard takes in at most 1 MiB and 1,000 records a second: 1,049 bytes and one record a millisecond."""
PASSING: tuple[type[ServiceError], ...] = (ThrottledError, IteratorExpiredError)
"""Errors that end a plan with what it knows: the next one comes soon, and this shard holds up no other."""
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


@frozen
class Found:
    """The first records behind a start, and what is known of what follows them."""

    records: list[Record]
    at_tip: bool
    ended: bool
    iterator: str | None
    """Reads on behind the records."""

    @property
    def last(self) -> Record:
        return self.records[-1]

    def up_to(self, record: Record) -> Position:
        """Return the end behind *record*."""
        return Position(After(record.number), record.arrived_ms, first=self.records[0].number)

    def up_to_shard_end(self) -> Position:
        return Position(ShardEnd(), first=self.records[0].number)


def plan_end(view: ShardView, start: Position, limits: Limits) -> Position:
    """
    Return where the next batch ends in this shard; *start* itself when nothing is there yet.

    A quiet shard costs one call. A busy one costs two more, whatever lies between. A throttle ends the plan with
    what is known by then; before anything is known it is raised. `view.is_ended` tells whether the shard is closed and nothing lies behind *start*.
    """
    found = _look(view, start, _sample_records(view, limits), GAP_CALLS)
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


def plan_tip(view: ShardView, start: Position) -> Position:
    """
    Return the end of everything that is in the shard now, or *start* when nothing lies behind it.

    Raises:
        ServiceError: Also one that is `PASSING`: try again.
    """
    found = _look(view, start, view.records_for(READ_ON_BYTES), None)
    if not found.records:
        return start
    if found.ended:
        return found.up_to_shard_end()
    near = None if found.at_tip else _nearest(view, found)
    if near is not None and near.cut == ShardEnd():
        return near
    return _read_to_tip(view, found, near)


def plan_until(view: ShardView, start: Position, until_ms: int) -> Position:
    """Return the end before the first record that arrived at *until_ms* or later; the tip where there is none."""
    found = _look(view, start, 1, None)
    if not found.records:
        return start
    if until_ms > view.now_ms():
        return plan_tip(view, start)  # Kinesis refuses to look for records of the future
    page = view.page_at(AtTimestamp(until_ms), 1, None)
    if not page.records:
        return plan_tip(view, start)
    first, behind = found.records[0].number, page.records[0]
    return Position(At(behind.number), behind.arrived_ms, first=first) if behind.number > first else start


def plan_up_to(view: ShardView, start: Position, cut: At | After) -> Position:
    """Return the end at *cut*, or before the first record behind it where it names none; the tip where there is none."""
    found = _look(view, start, 1, None)
    if not found.records or not is_before(found.records[0].number, cut):
        return start
    page = view.page_at(At(cut.number), 1, None)
    if not page.records:
        return plan_tip(view, start)
    record, first = page.records[0], found.records[0].number
    exact = cut if record.number == cut.number else At(record.number)
    return Position(exact, record.arrived_ms, first=first) if is_before(first, exact) else start


def _sample_records(view: ShardView, limits: Limits) -> int:
    return min(view.sample_records(), limits.max_records or MAX_PAGE_RECORDS)


def _look(view: ShardView, start: Position, limit: int, max_empty: int | None) -> Found:
    """Return the first records behind *start*, walking at most *max_empty* pages of a gap (None: all of it)."""
    empty = 0
    while True:
        page = view.next_page(start.cut, limit)
        if page.records or page.is_shard_end or page.millis_behind == 0:
            break
        empty += 1
        if empty == max_empty or view.is_stuck:
            break
    if page.records and page.next_iterator is not None:
        view.keep(After(page.records[-1].number), page.next_iterator)
    return Found(page.records, _is_tip(page, limit), page.is_shard_end, page.next_iterator)


def _is_tip(page: Page, limit: int) -> bool:
    """A full page may have more behind it even where the server says that it is not behind."""
    return page.millis_behind == 0 and len(page.records) < limit


def _is_full(found: Found, limits: Limits) -> bool:
    return limits.max_records is not None and len(found.records) >= limits.max_records


def _within(found: Found, limits: Limits) -> Position | None:
    """Return an end inside the found records where they alone exceed the byte limit."""
    if limits.max_bytes is None:
        return None
    total = 0
    for i, record in enumerate(found.records):
        total += len(record.data)
        if total > limits.max_bytes and i > 0:
            return found.up_to(found.records[i - 1])
    return None


def _beyond(view: ShardView, found: Found, limits: Limits) -> Position:
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


def _look_back(view: ShardView, found: Found, last_ms: int, tip_ms: int) -> Position | None:
    """Look near the tip, then further and further back, for a record behind the found ones."""
    empty_ms = tip_ms
    for at_ms in _times_back(tip_ms, last_ms):
        position = _end_at(view, found, at_ms)
        if position is not None:
            return position
        empty_ms = at_ms
    return _nearer(view, found, last_ms, empty_ms)


def _times_back(tip_ms: int, last_ms: int) -> list[int]:
    times = (tip_ms - TIP_LAG_MS * (4**attempt - 1) for attempt in range(LOOKS_BACK + 1))
    return [at_ms for at_ms in times if at_ms > last_ms]


def _nearer(view: ShardView, found: Found, last_ms: int, empty_ms: int) -> Position | None:
    """Look half way, a quarter of the way, ... from the found records to a time from which on nothing came."""
    for attempt in range(1, LOOKS_NEARER + 1):
        at_ms = last_ms + (empty_ms - last_ms) // 2**attempt
        position = _end_at(view, found, at_ms) if at_ms > last_ms else None
        if position is not None:
            return position
    return None


def _nearest(view: ShardView, found: Found) -> Position | None:
    """Return an end not far before the tip: by looking back from now, then between the two closest times."""
    since_ms, near = found.last.arrived_ms, None
    if since_ms is None:
        return None
    empty_ms = tip_ms = view.now_ms() - TIP_LAG_MS
    for at_ms in _times_back(tip_ms, since_ms):
        near = _end_at(view, found, at_ms)
        if near is not None:
            since_ms = at_ms
            break
        empty_ms = at_ms
    while empty_ms - since_ms > NEAR_MS:
        at_ms = (since_ms + empty_ms) // 2
        nearer = _end_at(view, found, at_ms)
        since_ms, empty_ms = (since_ms, at_ms) if nearer is None else (at_ms, empty_ms)
        near = nearer or near
    return near


def _end_at(view: ShardView, found: Found, at_ms: int) -> Position | None:
    """Return the end behind the first record that arrived at *at_ms* or later, if there is one behind the found."""
    page = view.page_at(AtTimestamp(at_ms), 1, GAP_CALLS)
    if not page.records:
        return found.up_to_shard_end() if page.is_shard_end else None
    record = page.records[0]
    if record.number <= found.last.number:
        return None
    view.keep(After(record.number), page.next_iterator)
    return found.up_to(record)


def _catch_up(view: ShardView, found: Found, first_ms: int, limits: Limits) -> Position | None:
    """Look as far ahead as a batch may reach; further where both ends of the span show that records are sparse."""
    span = limits.span_ms
    wide = min(WIDEST * span, _sparse_span_ms(found.records, limits))
    if wide > span and first_ms + wide < view.now_ms() - TIP_LAG_MS:
        far = view.page_at(AtTimestamp(int(first_ms + wide)), view.sample_records(), GAP_CALLS).records
        if far and far[0].number > found.last.number and _sparse_span_ms(far, limits) >= wide:
            return found.up_to(far[0])
    until_ms = int(first_ms + span) - 1  # both milliseconds may have a record
    return _end_at(view, found, until_ms) or _nearer(view, found, found.last.arrived_ms or first_ms, until_ms)


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


def _read_on(view: ShardView, found: Found, limits: Limits) -> Position:
    """Read a bounded piece of what follows the found records, and end behind it."""
    limit = view.records_for(min(READ_ON_BYTES, limits.max_bytes or READ_ON_BYTES))
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


def _read_to_tip(view: ShardView, found: Found, near: Position | None) -> Position:
    """Read on to the tip, and a page further: a closed shard's end may come on a page of its own."""
    last, at_tip = found.last if near is None else None, found.at_tip
    iterator = found.iterator if near is None else view.iterator_at(near.cut)
    while iterator is not None:
        page = view.read(iterator, MAX_PAGE_RECORDS)
        iterator = page.next_iterator
        last = page.records[-1] if page.records else last
        was_at_tip, at_tip = at_tip, _is_tip(page, MAX_PAGE_RECORDS)
        if at_tip and iterator is not None and (was_at_tip or not page.records):
            position = near if near and last is None else found.up_to(last or found.last)
            view.keep(position.cut, iterator)
            return position
    return found.up_to_shard_end()
