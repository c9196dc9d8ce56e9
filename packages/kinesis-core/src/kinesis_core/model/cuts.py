"""A cut is a place between two records of one shard's log; a range is what lies between two cuts."""

from __future__ import annotations

from attrs import frozen

LAST_EPOCH_MS = 253_402_300_799_999
"""The end of the year 9999, and of what a `datetime` holds."""


@frozen
class TrimHorizon:
    """Before the oldest record that the shard still holds."""

    def __str__(self) -> str:
        return "TRIM_HORIZON"


@frozen
class AtTimestamp:
    """
    Before the first record that arrived at or after *epoch_ms*.

    Arrival times are neither exact nor increasing, so this is only a place to begin looking: the planner
    replaces it by `At` or `After` as soon as it has seen a record.
    """

    epoch_ms: int

    def __str__(self) -> str:
        return f"AT_TIMESTAMP {self.epoch_ms}"


@frozen
class At:
    """Before record *number*: it is the first one behind this cut."""

    number: int
    skip: int = 0
    """How many of its user records lie before this cut as well: a start inside an aggregate that was read in part."""

    def __str__(self) -> str:
        return f"AT {self.number}"


@frozen
class After:
    """Behind record *number*: it is the last one before this cut."""

    number: int

    def __str__(self) -> str:
        return f"AFTER {self.number}"


@frozen
class ShardEnd:
    """Behind everything that a closed shard will ever hold."""

    def __str__(self) -> str:
        return "SHARD_END"


Cut = TrimHorizon | AtTimestamp | At | After | ShardEnd
EndCut = At | After | ShardEnd


def is_before(number: int, end: EndCut) -> bool:
    """Return whether record *number* lies before *end*."""
    match end:
        case At(limit):
            return number < limit
        case After(limit):
            return number <= limit
        case ShardEnd():
            return True


def is_after(number: int, start: Cut) -> bool:
    """Return whether record *number* lies behind *start*; always true for cuts without a number, but `ShardEnd`."""
    match start:
        case At(limit):
            return number >= limit
        case After(limit):
            return number > limit
        case TrimHorizon() | AtTimestamp():
            return True
        case ShardEnd():
            return False
