"""Looks into one shard: at the first records behind a place, and at one record of a certain time."""

from __future__ import annotations

from attrs import frozen

from kinesis_core.model import After, AtTimestamp, Estimate, Page, Record, ShardEnd, ShardOffset
from kinesis_core.planning.shard_state import ShardState

TIP_LAG_MS = 200
"""How far behind the service's clock the first look is taken: close to the tip, yet rarely beyond it."""
LOOKS_BACK = 5
"""Looks further back, each 4 times as far, in one plan: 200 ms to 3 minutes."""
GAP_CALLS = 4
"""Empty pages followed in one plan, so that one long gap never holds up the other shards."""
READ_ON_BYTES = 1024 * 1024
"""What a plan may read twice to find the last record of a burst."""


@frozen
class Found:
    """The first records behind a start, and what is known of what follows them."""

    records: list[Record]
    at_tip: bool
    ended: bool
    iterator: str | None
    """Reads on behind the records."""
    now_ms: int
    """When they were found."""
    records_per_ms: float
    """How fast records follow them, about."""

    @property
    def last(self) -> Record:
        return self.records[-1]

    def up_to(self, record: Record) -> ShardOffset:
        """Return the end behind *record*."""
        first, estimate = self.records[0].number, self._estimate(self._count(record))
        return ShardOffset(After(record.number), record.arrived_ms, first, estimate=estimate)

    def up_to_shard_end(self, last: Record | None = None) -> ShardOffset:
        """Return the shard's end, with the time of the *last* record that is known: children have no older ones."""
        arrived_ms, estimate = (last or self.last).arrived_ms, self._estimate(len(self.records))
        return ShardOffset(ShardEnd(), arrived_ms, self.records[0].number, estimate=estimate)

    def _count(self, end: Record) -> int:
        """Return how many records there are up to *end*: exactly up to the last one found, about behind it."""
        if end.number <= self.last.number:
            return len(self.records) if end.number == self.last.number else self.records.index(end) + 1
        last_ms, end_ms = self.last.arrived_ms, end.arrived_ms
        passed_ms = 0 if last_ms is None or end_ms is None else end_ms - last_ms
        return len(self.records) + max(1, round(passed_ms * self.records_per_ms))

    def _estimate(self, records: int) -> Estimate:
        first_ms = self.records[0].arrived_ms
        return Estimate(records, None if first_ms is None else self.now_ms - first_ms)


def look(view: ShardState, start: ShardOffset, limit: int, max_empty: int | None) -> Found:
    """
    Return the first records behind *start*.

    A gap is walked for at most *max_empty* pages (None, or a view that crosses gaps: to its end).
    """
    page, empty = view.next_page(start.cut, limit), 1
    while page.is_in_gap and not view.is_stuck and (view.crosses_gaps or empty != max_empty):
        page, empty = view.next_page(start.cut, limit), empty + 1
    if page.records and page.next_iterator is not None:
        view.keep(After(page.records[-1].number), page.next_iterator)
    if page.records:
        since_ms = start.cut.epoch_ms if isinstance(start.cut, AtTimestamp) else start.arrived_ms
        view.sampling.note_rate(page.records, since_ms)
    return Found(
        page.records,
        is_tip(page, limit),
        page.is_shard_end,
        page.next_iterator,
        view.now_ms(),
        view.sampling.records_per_ms,
    )


def is_tip(page: Page, limit: int) -> bool:
    """A full page may have more behind it even where the server says that it is not behind."""
    return page.millis_behind == 0 and len(page.records) < limit


def end_at(view: ShardState, found: Found, at_ms: int) -> ShardOffset | None:
    """Return the end behind the first record that arrived at *at_ms* or later, if there is one behind the found."""
    page = view.page_at(AtTimestamp(at_ms), 2, GAP_CALLS)
    if not page.records:
        return found.up_to_shard_end() if page.is_shard_end else None
    record, *later = page.records
    if record.number <= found.last.number:
        return None
    cut = After(record.number)
    view.keep(cut, None if later else page.next_iterator)
    for behind in later[:1]:
        view.keep_next(cut, behind)
    return found.up_to(record)


def times_back(tip_ms: int, last_ms: int) -> list[int]:
    times = (tip_ms - TIP_LAG_MS * (4**attempt - 1) for attempt in range(LOOKS_BACK + 1))
    return [at_ms for at_ms in times if at_ms > last_ms]
