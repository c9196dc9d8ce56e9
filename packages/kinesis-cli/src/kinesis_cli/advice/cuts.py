"""Where to split a shard: at the hash key that halves its traffic, not its hash keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from attrs import frozen

Weight = tuple[int, float]
"""A hash key and its traffic."""


@frozen
class HashCut:
    """A cut between two hash keys of a shard."""

    new_start: int
    """The first hash key of the second half."""
    first_share: float
    """The share of the traffic before it."""

    @property
    def larger_share(self) -> float:
        return max(self.first_share, 1 - self.first_share)


def halve(weights: Sequence[Weight], hash_start: int, hash_end: int) -> HashCut | None:
    """
    Return the cut that halves *weights* best; None if no cut divides them. The hash keys of *weights* increase.

    Kinesis accepts a new starting hash key from *hash_start* + 2 to *hash_end* - 1.

    Source: the messages of SplitShard's InvalidArgumentException
    """
    total = sum(weight for _, weight in weights)
    best: HashCut | None = None
    before = 0.0
    for (last, weight), (first, _) in pairwise(weights):
        before += weight
        new_start = min(first, hash_end - 1)
        if new_start <= last or new_start < hash_start + 2:
            continue
        cut = HashCut(new_start, before / total)
        if best is None or cut.larger_share < best.larger_share:
            best = cut
    return best
