"""The script of a seed."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from support.chaos.script import (
    FEWEST_SHARDS,
    KILLS,
    KINDS,
    MOST_FAULTS,
    MOST_SHARDS,
    SHARDS,
    Faults,
    Kill,
    Merge,
    Split,
    rounds,
)

seeds = st.integers(0, 2**32)


@given(seeds)
def test_seed_replays(seed: int) -> None:
    """The same seed plays the same rounds, however many are played."""
    assert list(islice(rounds(seed), 5)) == list(islice(rounds(seed), 9))[:5]


def test_seeds_differ() -> None:
    """Another seed plays another script."""
    assert next(rounds(1)) != next(rounds(2))


@given(seeds)
def test_round(seed: int) -> None:
    """Each round kills equally many of every kind, reshards once, and changes the faults."""
    for steps in islice(rounds(seed, longest_pause_s=0.5), 20):
        actions = [step.action for step in steps]
        assert sorted(a.kind for a in actions if isinstance(a, Kill)) == sorted(KINDS * KILLS)
        assert sum(isinstance(a, Split | Merge) for a in actions) == 1
        assert all(0 <= a.share <= MOST_FAULTS for a in actions if isinstance(a, Faults))
        assert all(0 <= a.pick < 1 for a in actions if isinstance(a, Kill | Split | Merge))
        assert all(0 <= step.pause_s <= 0.5 for step in steps)


@given(seeds)
def test_shards_stay_within_bounds(seed: int) -> None:
    """The number of open shards stays within bounds, however long a script is."""
    shards = SHARDS
    for steps in islice(rounds(seed), 100):
        splits = any(isinstance(step.action, Split) for step in steps)
        shards += 1 if splits else -1
        assert FEWEST_SHARDS <= shards <= MOST_SHARDS
