"""
Turns: which shards come first where a plan may not have the time for all of them.

The shards that were not planned for longest come first. Of those that were planned in the same round, the ones furthest behind come
first. A shard that was left out thus comes before all that were planned meanwhile. So with *n* shards, of which each plan has the time
for *k*, each shard is planned once in n/k plans, rounded up, whatever the lags are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from attrs import define, field, frozen

from kinesis_core.model import AtTimestamp, ShardOffset, TrimHorizon


@frozen
class Turn:
    """When a shard was planned last: in which round, and when."""

    round: int
    at_s: float


NEVER = Turn(0, 0.0)


def in_turn(
    shards: Iterable[str], turn: Callable[[str], Turn], behind_ms: Callable[[str], float]
) -> list[str]:
    """Return *shards* in the order in which to begin them."""
    return sorted(shards, key=lambda shard_id: (turn(shard_id).round, -behind_ms(shard_id)))


def age_ms(started: ShardOffset, now_ms: int) -> float:
    """Return how old records after an offset may be, as far as the offset shows it."""
    if started.arrived_ms:
        return now_ms - started.arrived_ms
    if isinstance(started.cut, AtTimestamp):
        return now_ms - started.cut.epoch_ms
    return float("inf") if started.cut == TrimHorizon() else 0.0


@define
class Turns:
    """
    The turns of the shards of one stream. Another planner starts without them, and begins with the shards that are furthest behind.

    A round is what happens until a batch is found, or until each shard was planned: one plan, or several where shards were left out.
    """

    round: int = field(default=0, init=False)
    left: Collection[str] = field(default=(), init=False)
    """The shards that the last plan left for the next one."""
    planned: int = field(default=0, init=False)
    """How many shards were planned in this round."""
    is_begun: bool = field(default=False, init=False)
    """Whether the current plan has planned shards."""
    _turns: dict[str, Turn] = field(factory=dict, init=False)
    _left_s: float = field(default=0.0, init=False)

    def begin_round(self) -> None:
        self.round, self.planned = self.round + 1, 0

    def begin_plan(self) -> None:
        self.left, self.is_begun = (), False

    def of(self, shard_id: str) -> Turn:
        return self._turns.get(shard_id, NEVER)

    def is_over(self, shard_id: str) -> bool:
        """Return whether the shard was planned in this round."""
        return self.of(shard_id).round == self.round != 0

    def note(self, planned: Collection[str], left: Collection[str], now_s: float) -> None:
        """Note which shards were planned until now, and which ones are left for the next plan."""
        self._turns.update(dict.fromkeys(planned, Turn(self.round, now_s)))
        self.planned, self.is_begun = self.planned + len(planned), True
        self.left, self._left_s = frozenset(left), now_s

    def unread_ms(self, shard_id: str) -> int:
        """Return for how long the shard had not been planned when the last plan left it out; 0 if that planned it."""
        if shard_id not in self.left:
            return 0
        return max(0, int((self._left_s - self.of(shard_id).at_s) * 1000))
