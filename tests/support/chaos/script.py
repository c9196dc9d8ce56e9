"""What happens to a cluster, and when: the same steps in the same order for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal, get_args

from attrs import frozen

Kind = Literal["executor", "worker", "driver", "emulator"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What is killed. A worker is one of Spark's Python processes on an executor."""
KILLS = 2
"""How many of each kind a round kills."""
SHARDS = 8
FEWEST_SHARDS, MOST_SHARDS = 5, 11
MOST_FAULTS = 0.2


@frozen
class Kill:
    """One of what is running of *kind* dies; *pick*, from 0 to 1, says which."""

    kind: Kind
    pick: float


@frozen
class Split:
    """An open shard is split in the middle; *pick* says which."""

    pick: float


@frozen
class Merge:
    """An open shard and its neighbour are merged; *pick* says which."""

    pick: float


@frozen
class Faults:
    """From now on this share of all calls is throttled, cut, refused or garbled."""

    share: float
    seed: int


Action = Kill | Split | Merge | Faults


@frozen
class Step:
    """An action, after a pause in which all goes on."""

    pause_s: float
    action: Action


Round = tuple[Step, ...]


def rounds(seed: int, longest_pause_s: float = 1.0) -> Iterator[Round]:
    """
    Yield rounds without end. Each kills two of every kind, reshards and changes the faults, in an order of its own.

    So kinds are killed equally often, and close enough together that one failure falls into the recovery from another.
    """
    rng = random.Random(seed)
    shards = SHARDS
    while True:
        splits = shards < MOST_SHARDS and (shards <= FEWEST_SHARDS or rng.random() < 0.5)
        shards += 1 if splits else -1
        actions: list[Action] = [Kill(kind, rng.random()) for kind in KINDS * KILLS]
        actions += [
            (Split if splits else Merge)(rng.random()),
            Faults(rng.uniform(0, MOST_FAULTS), rng.randrange(2**31)),
        ]
        rng.shuffle(actions)
        yield tuple(Step(rng.uniform(0, longest_pause_s), action) for action in actions)
