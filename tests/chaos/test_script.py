"""The script of a seed."""

from __future__ import annotations

from itertools import islice

from hypothesis import given, strategies as st

from tools.chaos.script import (
    FEWEST_SHARDS,
    KILLS,
    KINDS,
    MOST_FAULTS,
    MOST_SHARDS,
    SHARDS,
    Faults,
    Kill,
    Merge,
    Scale,
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
    """Each round kills equally many of every kind, splits or merges, and changes the faults. Every second one runs AvailableNow."""
    for number, played in enumerate(islice(rounds(seed, longest_pause_s=0.5), 20)):
        actions = [step.action for step in played.steps]
        assert sorted(a.kind for a in actions if isinstance(a, Kill)) == sorted(KINDS * KILLS)
        assert sum(isinstance(a, Split | Merge) for a in actions) == 1
        assert all(0 <= a.share <= MOST_FAULTS for a in actions if isinstance(a, Faults))
        assert all(0 <= a.pick < 1 for a in actions if isinstance(a, Kill | Split | Merge))
        assert all(0 <= step.pause_s <= 0.5 for step in played.steps)
        assert played.available_now == bool(number % 2)
        assert sum(isinstance(a, Scale) for a in actions) == int(played.available_now)


@given(seeds)
def test_shards_stay_within_bounds(seed: int) -> None:
    """The number of open shards stays within bounds, however long a script is. Both changes between two runs are changes."""
    shards = SHARDS
    for played in islice(rounds(seed), 100):
        for step in played.steps:
            match step.action:
                case Split():
                    shards += 1
                case Merge():
                    shards -= 1
                case Scale((first, second)):
                    assert first != second
                    assert FEWEST_SHARDS < first < MOST_SHARDS
                    shards = second
            assert FEWEST_SHARDS <= shards <= MOST_SHARDS
