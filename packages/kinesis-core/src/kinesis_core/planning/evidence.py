"""Evidence: what pages showed of one shard. It shows whether records expired unread, so it is not a cache."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kinesis_core.model import (
    HOUR_MS,
    MIN_RETENTION_HOURS,
    After,
    At,
    AtTimestamp,
    Cut,
    Record,
    ShardOffset,
    TrimHorizon,
    is_after,
)
from kinesis_core.planning.progress import Idle, InGap, Progress, reading
from kinesis_core.shards import Gap

DAY_MS = MIN_RETENTION_HOURS * HOUR_MS
EMPTY_MARGIN_MS = 5000
"""Subtracted from the time up to which a shard was seen empty: arrival times may be off by as much."""


class Emptiness(Struct, frozen=True, gc=False):
    """No record after *cut* arrived before *until_ms* (since the epoch)."""

    cut: Cut
    until_ms: int


class Evidence(Struct, frozen=True, gc=False):
    """
    Facts about the records of a shard. Each function returns new evidence.

    They judge losses. *following* also saves calls: a plan from its cut need not look for the first record.
    """

    emptiness: Emptiness | None = None
    newest: int | None = None
    """The highest number of a record that was seen."""
    following: tuple[Cut, Record] | None = None
    """A cut, and the first record after it."""
    promised_ms: int | None = None
    """No record after the end of the last plan arrived before this time. Children of an ended shard inherit it."""

    def with_records(self, records: Sequence[Record]) -> Evidence:
        """Return it with *records*, in the order of their numbers, wherever in the shard they were found."""
        newest = records[-1].number if records else 0
        if newest <= (self.newest or 0):
            return self
        return Evidence(self.emptiness, newest, self.following, self.promised_ms)

    def with_progress(self, progress: Progress, now_ms: int) -> Evidence:
        """
        Return it with the time up to which a page that was read at *now_ms*, and led to *progress*, shows the shard empty.

        The end of a shard shows nothing: its children may hold records that arrived before now. Neither do pages without
        progress: while time passes and their lag stays, records that arrive in this time are not on them. Nor does a lag that may
        be the whole retention, where reading starts at the oldest record: nothing can have been there before.
        """
        match reading(progress):
            case Idle(cut):
                until_ms = now_ms - EMPTY_MARGIN_MS
            case InGap(TrimHorizon(), Gap(lag_ms, 1)) if lag_ms >= DAY_MS:
                return self
            case InGap(cut, Gap(lag_ms, 1)):
                until_ms = now_ms - lag_ms - EMPTY_MARGIN_MS
                if isinstance(cut, AtTimestamp):
                    until_ms = max(until_ms, cut.epoch_ms)
            case _:
                return self
        known_ms = self.empty_until_ms(cut)
        if known_ms is not None and known_ms >= until_ms:
            return self
        return self.with_emptiness(Emptiness(cut, until_ms))

    def with_emptiness(self, emptiness: Emptiness | None) -> Evidence:
        return Evidence(emptiness, self.newest, self.following, self.promised_ms)

    def with_following(self, cut: Cut, record: Record) -> Evidence:
        """Return it with *record* as the first one after *cut*."""
        return Evidence(self.emptiness, self.newest, (cut, record), self.promised_ms)

    def with_promise(self, promised_ms: int | None) -> Evidence:
        if promised_ms == self.promised_ms:
            return self
        return Evidence(self.emptiness, self.newest, self.following, promised_ms)

    def empty_until_ms(self, cut: Cut) -> int | None:
        """Return a time before which no record after *cut* arrived, in ms since the epoch; None when none is known."""
        return self.emptiness.until_ms if self.emptiness is not None and self.emptiness.cut == cut else None

    def next_record(self, cut: Cut) -> Record | None:
        """Return the first record after *cut*, if it was seen."""
        return self.following[1] if self.following is not None and self.following[0] == cut else None

    def next_number(self, cut: Cut) -> int | None:
        """Return the number of the very next record after *cut*, if it is known."""
        if isinstance(cut, At):
            return cut.number
        record = self.next_record(cut)
        return None if record is None else record.number

    def first_known(self, cut: Cut, target: ShardOffset | None) -> int | None:
        """Return the least number seen after *cut*, if any was; *target* is an end that was seen in the shard."""
        record, first = self.next_record(cut), None if target is None else target.first
        newest = self.newest if isinstance(cut, (At, After)) else None
        seen = (first, newest, None if record is None else record.number)
        return min((number for number in seen if number is not None and is_after(number, cut)), default=None)
