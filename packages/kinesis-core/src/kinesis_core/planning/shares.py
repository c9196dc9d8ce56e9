"""
How much of each shard a batch may take: the estimated records of the shard, and its share in the limits of a whole batch.

What one shard does not need goes to the others. What a shard needs is a guess, by what its last plan saw. A wrong guess changes how
much of a shard is in this batch and how much in the next one. It never makes the batch larger, because all shares together are the
limit. A shard that was guessed too low uses up its share, and counts as one that needs everything in the next plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf
from typing import TypeVar

from attrs import define, frozen

from kinesis_core.model import Record, data_bytes, records_for
from kinesis_core.planning.settings import SHARD_BYTES_PER_MS, Limits

LEAST = 8
"""A shard that needs nothing gets an eighth of an equal part, so that its next records need not wait for another batch."""

K = TypeVar("K")
ShardKey = tuple[str, str]
"""A stream, as the user gave it, and a shard."""
SAMPLE_BYTES = 256 * 1024
"""Bytes that a plan may read to see whether a shard is quiet, of the 2 MiB/s that all readers share."""
MAX_SAMPLE_RECORDS = 1000
SHORTEST_RATED_MS = 1000
"""A producer puts up to 500 records at a time: their distance shows no rate."""
FIRST_SAMPLE_RECORDS = 25
"""Records read of a shard whose record size is not known yet."""
ROOM = 2.0
"""A shard may take in this many times its rate before a share of a batch is too small for it."""


@frozen
class Need:
    """About how much a shard may hold for the next batch."""

    records: float
    size_bytes: float


NOTHING = Need(0.0, 0.0)
"""What a shard needs whose next records are held back until others have caught up."""
EVERYTHING = Need(inf, inf)
"""What a shard needs that is behind, or unknown."""


@frozen
class Shares:
    """The limits of each shard in one batch of all streams."""

    by_shard: Mapping[ShardKey, Limits]
    late: Limits
    """Of a shard that the plan finds later: half of the smallest share. Its parent has no records, and two children at most."""
    until_ms: float = inf
    """A plan looks for no records that arrived after this time (ms since the epoch)."""

    def of(self, stream: str, shard_id: str) -> Limits:
        limits = self.by_shard.get((stream, shard_id), self.late)
        return Limits(limits.max_records, limits.max_bytes, self.until_ms)


def divide(total: int, needs: Mapping[K, float]) -> dict[K, int]:
    """
    Return the share of each in *total*: its need, or an equal part of what those leave that need less.

    What nobody needs is divided equally. Each share is at least 1. Together they are *total* at most, or 1 each where that is more.
    """
    shares, left = dict[K, int](), total
    for i, key in enumerate(sorted(needs, key=needs.__getitem__)):
        equal = max(1, left // (len(needs) - i))
        shares[key] = max(1, ceil(min(needs[key], equal)))
        left -= shares[key]
    spare = max(0, left) // max(1, len(needs))
    return {key: shares[key] + spare for key in needs}


def divide_limits(limits: Limits, batch_limits: Limits, needs: Mapping[ShardKey, Need]) -> Shares:
    """Divide *batch_limits* among the shards that may be read now. No shard gets more than *limits*."""
    records = {shard: need.records for shard, need in needs.items()}
    sizes = {shard: need.size_bytes for shard, need in needs.items()}
    max_records, late_records = _divide(batch_limits.max_records, limits.max_records, records)
    max_bytes, late_bytes = _divide(batch_limits.max_bytes, limits.max_bytes, sizes)
    by_shard = {shard: Limits(max_records[shard], max_bytes[shard]) for shard in needs}
    return Shares(by_shard, Limits(late_records, late_bytes))


def _divide(
    total: int | None, each: int | None, needs: Mapping[K, float]
) -> tuple[Mapping[K, int | None], int | None]:
    """Return the share of each, and that of one that is found later. *each* is the most that one may have."""
    if total is None:
        return dict.fromkeys(needs, each), each
    most = total if each is None else min(each, total)
    least = total / LEAST / max(1, len(needs))
    shares = divide(total, {key: max(least, min(need, most)) for key, need in needs.items()})
    late = max(1, min(shares.values(), default=total) // 2)
    return {key: min(share, most) for key, share in shares.items()}, min(late, most)


@define
class Sampling:
    """Estimates from the records of a shard that were seen last."""

    record_bytes: float = SAMPLE_BYTES / FIRST_SAMPLE_RECORDS
    records_per_ms: float = 0.0

    def note(self, records: Sequence[Record]) -> None:
        self.record_bytes = max(1.0, data_bytes(records) / len(records))

    def note_rate(self, records: Sequence[Record], since_ms: int | None) -> None:
        """Note the rate of *records*, the first ones after *since_ms*; None where only their own arrival times show it."""
        first_ms, last_ms = records[0].arrived_ms, records[-1].arrived_ms
        if first_ms is None or last_ms is None:
            return
        passed_ms = last_ms - (first_ms if since_ms is None else min(since_ms, first_ms))
        self.records_per_ms = len(records) / max(SHORTEST_RATED_MS, passed_ms)

    def need(self, unread_ms: float) -> Need:
        """Return what the shard may have taken in since a time, with room. No shard takes in more than Kinesis allows."""
        records_per_ms = ROOM * self.records_per_ms
        bytes_per_ms = records_per_ms * self.record_bytes
        return Need(unread_ms * min(1.0, records_per_ms), unread_ms * min(SHARD_BYTES_PER_MS, bytes_per_ms))

    def sample_records(self) -> int:
        """Return how many records fit the sample's byte budget."""
        return min(MAX_SAMPLE_RECORDS, self.records_for(SAMPLE_BYTES))

    def records_for(self, size_bytes: int) -> int:
        """Return how many records make up about *size_bytes*: 1 to 10,000."""
        return records_for(size_bytes, self.record_bytes)
