"""
Which worker creates missing leases in a group without a leader: one that all workers agree on, those of the KCL included.

The KCL shuffles the names of the owners of leases, with a fixed seed of Java's generator, and takes the first one.

Source: DeterministicShuffleShardSyncLeaderDecider of the KCL 2.7 and 3.5; java.util.Random and java.util.Collections.shuffle
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define

from kinesis_core.leases import Lease

_SEED = 1947
_MULTIPLIER, _INCREMENT, _BITS = 0x5DEECE66D, 0xB, 48


def elect_auditor(leases: Iterable[Lease]) -> str | None:
    """Return the worker that looks for missing leases; None if no lease has an owner."""
    names = sorted({lease.owner for lease in leases if lease.owner is not None})
    generator = _JavaRandom.of(_SEED)
    for end in range(len(names), 1, -1):
        other = generator.below(end)
        names[end - 1], names[other] = names[other], names[end - 1]
    return names[0] if names else None


@define
class _JavaRandom:
    """The linear congruential generator that Java's documentation prescribes."""

    _state: int

    @classmethod
    def of(cls, seed: int) -> _JavaRandom:
        return cls((seed ^ _MULTIPLIER) % 2**_BITS)

    def below(self, bound: int) -> int:
        if bound & (bound - 1) == 0:
            return bound * self._next() >> 31
        while True:
            drawn = self._next()
            found = drawn % bound
            if drawn - found + bound <= 2**31:  # the last, incomplete run of values would favour small ones
                return found

    def _next(self) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) % 2**_BITS
        return self._state >> _BITS - 31
