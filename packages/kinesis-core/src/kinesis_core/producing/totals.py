"""What a producer did, in numbers that can be added up."""

from __future__ import annotations

from attrs import asdict, frozen


@frozen
class Totals:
    """Counts of what happened to the records of one producer, or of several."""

    user_records: int = 0
    """What was put, and is now in the stream."""
    records: int = 0
    """What they are in the stream: an aggregate is one record."""
    bytes: int = 0
    """Data and partition keys of those records."""
    requests: int = 0
    """Calls of PutRecords, failed ones included."""
    throttled: int = 0
    """Records that a shard did not take because of its rate, each as often as that happened."""
    failed: int = 0
    """Records that Kinesis did not take for another reason, each as often as that happened."""
    resent: int = 0
    """User records sent again because the answer was lost or an error: they may be in the stream twice."""
    misplaced: int = 0
    """User records sent again because their aggregate came to a shard that does not own all of them."""

    def __add__(self, other: Totals) -> Totals:
        mine, theirs = asdict(self), asdict(other)
        return Totals(**{name: mine[name] + theirs[name] for name in mine})
