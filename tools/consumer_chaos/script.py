"""What happens in a run, and when. The seed decides it."""

from __future__ import annotations

import random

from attrs import frozen

TURNS_PER_INCIDENT = 30
"""Turns are a tenth of a second long. A lease expires after 25 of them."""


@frozen
class Strike:
    turn: int
    kind: str
    """kill, stop, pause or reshard."""


@frozen
class Plan:
    seed: int
    workers: int = 5
    records: int = 200_000
    kills: int = 60
    stops: int = 20
    pauses: int = 6
    reshards: int = 24

    def turns(self) -> int:
        return TURNS_PER_INCIDENT * (self.kills + self.stops + self.pauses + 2)

    def strikes(self) -> list[Strike]:
        """Return all that happens, in the order of time: at times close together, at times far apart."""
        rng = random.Random(self.seed)
        kinds = ["kill"] * self.kills + ["stop"] * self.stops + ["pause"] * self.pauses
        rng.shuffle(kinds)
        first, last = TURNS_PER_INCIDENT, self.turns() - TURNS_PER_INCIDENT
        turns = sorted(rng.randrange(first, last) for _ in kinds)
        reshards = [Strike(rng.randrange(first, last), "reshard") for _ in range(self.reshards)]
        return sorted(
            [*(Strike(turn, kind) for turn, kind in zip(turns, kinds, strict=True)), *reshards],
            key=lambda strike: strike.turn,
        )
