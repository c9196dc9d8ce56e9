"""
Whether a record is still in its shard. Kinesis trims a shard from its oldest record on: while a record is left, no later one has expired.

An empty page does not show it. The oldest record of the shard does so as well. While neither can be read, one has to wait.
"""

from __future__ import annotations

import math
from typing import Protocol

from attrs import define, field
from msgspec import Struct

from kinesis_core.clock import Clock
from kinesis_core.model import HOUR_MS, After, At, Cut, Record, TrimHorizon
from kinesis_core.shards.calls import Cursor, Look
from kinesis_core.shards.gaps import STALLED_PAGES
from kinesis_core.shards.stalls import Stall

MARGIN_MS = 60_000
"""How long before the end of its retention a record counts as expired: arrival times and clocks are not exact."""


class Left(Struct, frozen=True):
    """The record is in the shard."""

    record: Record


class Passed(Struct, frozen=True):
    """The record is not in the shard, or cannot be read. An older one can: no record after its number has expired."""

    oldest: Record
    is_absent: bool
    """Whether the shard certainly does not have the record: no gap hides it."""


class Expired(Struct, frozen=True):
    """The record is not in the shard, and no older one is."""

    oldest: Record | None
    """The oldest record that is left, if any is."""


class Unseen(Struct, frozen=True):
    """Pages stay empty, also those of the oldest record. It proves nothing."""


Seen = Left | Passed | Expired
Standing = Seen | Unseen


class ShardReads(Protocol):
    """The part of `ShardCalls` that a search needs."""

    @property
    def clock(self) -> Clock: ...

    def read(self, cursor: Cursor, limit: int, *, with_data: bool = True) -> Look: ...


@define
class Search:
    """
    Looks for the record that a cut names, and for the oldest one of the shard. It can be continued.

    From a cut that names none, and where the record is known to be absent, only the oldest one is looked for. Gaps are followed until
    *max_stalled* pages in a row bring no progress.
    """

    cut: Cut
    is_absent: bool = False
    max_stalled: int = STALLED_PAGES
    oldest: Cursor | None = field(default=Cursor(TrimHorizon()), init=False)
    """Brings the next page before the oldest record, or that record again once it was found."""
    _named: Cursor | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._named = None if self.is_absent or self.number is None else Cursor(At(self.number))

    @property
    def number(self) -> int | None:
        return self.cut.number if isinstance(self.cut, (At, After)) else None

    @property
    def is_stuck(self) -> bool:
        """Whether neither record can be found."""
        return self._named is None and self.oldest is None

    def proceed(self, calls: ShardReads, max_pages: float = math.inf, *, with_data: bool = True) -> Standing:
        """
        Return what about *max_pages* more pages show, `Unseen` if they show nothing yet.

        Raises:
            StreamNotFoundError: Kinesis does not know the shard.
            ServiceError: As for `ShardCalls.read`.
        """
        while not self.is_stuck and max_pages > 0:  # which of the two can be read first is not known
            if self._named is not None:
                look = calls.read(self._named, 1, with_data=with_data)
                if look.records and look.records[0].number == self.number:
                    return Left(look.records[0])
                self.is_absent = not look.is_in_gap
                self._named = look.onward(self.max_stalled)
                max_pages -= 1
            if self.oldest is not None:
                look = calls.read(self.oldest, 1, with_data=with_data)
                if not look.is_in_gap:
                    self.oldest = look.at
                    return self._judge(look.records[0] if look.records else None)
                self.oldest = look.onward(self.max_stalled)
                max_pages -= 1
        return Unseen()

    def _judge(self, oldest: Record | None) -> Seen:
        if oldest is None or self.number is None or oldest.number > self.number:
            return Expired(oldest)
        return Left(oldest) if oldest.number == self.number else Passed(oldest, self.is_absent)


def find_record(
    calls: ShardReads,
    number: int,
    max_stalled: int = STALLED_PAGES,
    *,
    is_absent: bool = False,
    with_data: bool = False,
) -> Standing:
    """
    Return whether record *number* is still in the shard. *is_absent*: whether it was not found where it should be.

    Raises:
        ServiceError: As for `Search.proceed`.
    """
    return Search(At(number), is_absent, max_stalled).proceed(calls, with_data=with_data)


def await_record(
    calls: ShardReads, number: int, stall: Stall, *, is_absent: bool = False, with_data: bool = False
) -> Seen:
    """
    Return what `find_record` does, once that can be seen.

    Raises:
        UnavailableError: Neither that record nor the oldest one can be read for too long.
        ServiceError: As for `Search.proceed`.
    """
    since_s = calls.clock.now_s()
    while isinstance(found := find_record(calls, number, is_absent=is_absent, with_data=with_data), Unseen):
        stall.goes_on(At(number), STALLED_PAGES, since_s, calls.clock.now_s())
    return found


def is_expiring(arrived_ms: int | None, now_ms: int, hours: int, margin_ms: int = MARGIN_MS) -> bool:
    """Return whether a record that arrived at *arrived_ms* may have expired after *hours*."""
    return arrived_ms is not None and arrived_ms < certain_from_ms(now_ms, hours, margin_ms)


def certain_from_ms(now_ms: int, hours: int, margin_ms: int = MARGIN_MS) -> int:
    """Return the time from which on no record has expired after *hours*."""
    return now_ms - hours * HOUR_MS + margin_ms
