"""Cuts: a cut is a point between two records of one shard. A range is all records between two cuts."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from attrs import frozen

HOUR_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def show_time(epoch_ms: int) -> str:
    """
    Return a time as people read it: `2026-01-31 09:00:00 UTC`, with milliseconds if it has any.

    A time that no calendar holds, as a damaged offset may have, is shown in milliseconds since the epoch.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return f"{epoch_ms} ms since the epoch"
    precision = "milliseconds" if epoch_ms % 1000 else "seconds"
    return f"{moment.replace(tzinfo=None).isoformat(' ', precision)} UTC"


LAST_EPOCH_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the largest time that a `datetime` holds."""


@frozen
class TrimHorizon:
    """Before the oldest record that the shard still has. For starts only."""

    def __str__(self) -> str:
        return "TRIM_HORIZON"


@frozen
class AtTimestamp:
    """
    Before the first record that arrived at *epoch_ms* or later.

    Arrival times are neither exact nor increasing. So this position only says where to search: the planner replaces it by
    `At` or `After` once it knows a record.
    """

    epoch_ms: int
    """Milliseconds since the epoch."""

    def __str__(self) -> str:
        return f"AT_TIMESTAMP {show_time(self.epoch_ms)}"


@frozen
class At:
    """Before record *number*: reading starts with this record."""

    number: int
    """The record's sequence number. Compare it, never compute with it."""
    skip: int = 0
    """
    For starts only: how many of the aggregate's first user records are left out. Above 0 where another reader stopped inside the
    aggregate.
    """

    def __str__(self) -> str:
        return f"AT {self.number} (skip {self.skip})" if self.skip else f"AT {self.number}"


@frozen
class After:
    """After record *number*: reading starts with the next record. As an end: this record is the last one."""

    number: int
    """The record's sequence number. Compare it, never compute with it."""

    def __str__(self) -> str:
        return f"AFTER {self.number}"


@frozen
class ShardEnd:
    """After the last record of a closed shard."""

    def __str__(self) -> str:
        return "SHARD_END"


Cut = TrimHorizon | AtTimestamp | At | After | ShardEnd
EndCut = At | After | ShardEnd


def is_before(number: int, end: EndCut) -> bool:
    """Return whether record *number* is before *end*."""
    match end:
        case At():
            return number < end.number
        case After():
            return number <= end.number
        case ShardEnd():
            return True


def is_after(number: int, start: Cut) -> bool:
    """
    Return whether record *number* is after *start*.

    Always true for `TrimHorizon` and `AtTimestamp`, which name no record; never for `ShardEnd`.
    """
    match start:
        case At():
            return number >= start.number
        case After():
            return number > start.number
        case TrimHorizon() | AtTimestamp():
            return True
        case ShardEnd():
            return False
