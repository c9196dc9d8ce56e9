"""
Shares: how the limits of a whole batch are divided among its shards.

What one shard does not need goes to the others. What a shard needs is a guess, by what its last plan saw. A wrong guess changes how
much of a shard is in this batch and how much in the next one. It never makes the batch larger, because all shares together are the
limit. A shard that was guessed too low uses up its share, and counts as one that needs everything in the next plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from typing import TypeVar

from attrs import frozen

from kinesis_core.planning.limits import Limits

LEAST = 8
"""A shard that needs nothing gets an eighth of an equal part, so that its next records need not wait for another batch."""

K = TypeVar("K")
ShardKey = tuple[str, str]
"""A stream, as the user gave it, and a shard."""


@frozen
class Need:
    """About how much a shard may hold for the next batch."""

    records: float
    size_bytes: float


NOTHING = Need(0.0, 0.0)
"""What a shard needs whose next records are held back until others have caught up."""
EVERYTHING = Need(inf, inf)
"""What a shard needs that is behind, or of which nothing is known."""


@frozen
class Shares:
    """The limits of each shard in one batch of all streams."""

    by_shard: Mapping[ShardKey, Limits]
    late: Limits
    """Of a shard that the plan finds later: half of the smallest share. Its parent has no records, and two children at most."""

    def of(self, stream: str, shard_id: str) -> Limits:
        return self.by_shard.get((stream, shard_id), self.late)


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
