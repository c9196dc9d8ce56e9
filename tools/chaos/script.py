"""The script of a run: the same steps in the same order for the same seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Literal, get_args

from attrs import frozen

Kind = Literal["executor", "worker", "driver", "emulator"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds to kill. A worker is a Python process of Spark on an executor."""
KILLS = 2
"""The number of kills of each kind per round."""
SHARDS = 8
FEWEST_SHARDS, MOST_SHARDS = 5, 11
MOST_FAULTS = 0.2
SCALED = range(FEWEST_SHARDS + 1, MOST_SHARDS)
"""The numbers of shards to scale to: a split or a merge before or after that stays within the bounds."""


@frozen
class Kill:
    """Kill a process of *kind*; *pick*, from 0 to 1, chooses it."""

    kind: Kind
    pick: float


@frozen
class Split:
    """Split an open shard in the middle; *pick* chooses it."""

    pick: float


@frozen
class Merge:
    """Merge an open shard with its neighbour; *pick* chooses it."""

    pick: float


@frozen
class Scale:
    """Change the number of shards to each of *targets* between two runs, and put records after each change."""

    targets: tuple[int, ...]


@frozen
class Faults:
    """From now on this share of all calls is throttled, cut, refused or malformed."""

    share: float
    seed: int


Action = Kill | Split | Merge | Scale | Faults


@frozen
class Step:
    """An action after a pause."""

    pause_s: float
    action: Action


@frozen
class Round:
    """Steps in a row, while the queries follow the stream, or read what is there in one run after the other."""

    steps: tuple[Step, ...]
    available_now: bool


def rounds(seed: int, longest_pause_s: float = 1.0) -> Iterator[Round]:
    """
    Yield rounds without end. Each one kills two of every kind, reshards and changes the faults, in an order of its own.

    So kinds are killed equally often, and close enough together that one failure hits the recovery from another. In every second
    round the queries run with AvailableNow, and the number of shards changes twice between two runs as well.
    """
    rng = random.Random(seed)
    shards = SHARDS
    for available_now in itertools.cycle([False, True]):
        splits = shards < MOST_SHARDS and (shards <= FEWEST_SHARDS or rng.random() < 0.5)
        actions: list[Action] = [Kill(kind, rng.random()) for kind in KINDS * KILLS]
        actions += [
            (Split if splits else Merge)(rng.random()),
            Faults(rng.uniform(0, MOST_FAULTS), rng.randrange(2**31)),
        ]
        if available_now:
            actions.append(Scale(tuple(rng.sample(SCALED, 2))))
        rng.shuffle(actions)
        for action in actions:
            shards = _shards_after(action, shards)
        yield Round(tuple(Step(rng.uniform(0, longest_pause_s), action) for action in actions), available_now)


def _shards_after(action: Action, shards: int) -> int:
    """Return how many shards are open after *action*."""
    match action:
        case Split():
            return shards + 1
        case Merge():
            return shards - 1
        case Scale(targets):
            return targets[-1]
        case _:
            return shards
