"""Counts of what a producer did."""

from __future__ import annotations

from attrs import asdict, frozen


@frozen
class Totals:
    """Counts of what happened to the records of one producer. Totals of several producers can be added."""

    user_records: int = 0
    """User records that are written."""
    records: int = 0
    """Records that hold them. An aggregate is one record."""
    bytes: int = 0
    """Data and partition keys of those records."""
    requests: int = 0
    """Calls of PutRecords, failed ones included."""
    throttled: int = 0
    """Records that a shard refused because of its rate, counted each time."""
    failed: int = 0
    """Records that Kinesis refused for another reason, counted each time."""
    resent: int = 0
    """User records sent again because the response was lost or an error. They may be in the stream twice."""
    misplaced: int = 0
    """User records sent again because their aggregate went to a shard that does not own all of them."""

    def __add__(self, other: Totals) -> Totals:
        mine, theirs = asdict(self), asdict(other)
        return Totals(**{name: mine[name] + theirs[name] for name in mine})
