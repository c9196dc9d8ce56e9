"""Rounds: plans of several streams, one after the other, until a batch is found or each shard was planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.model import Offset, StreamOffset
from kinesis_core.planning.plan_budget import PlanBudget
from kinesis_core.planning.turns import Turns

PlanStream = Callable[[str, PlanBudget | None], StreamOffset]
"""Returns the end of the next batch in a stream, within a budget or in a whole plan."""


@define
class Rounds:
    """
    Shares the budget of a plan among streams.

    A plan that ran out of time and found nothing new says nothing of the shards that it left out. So the round continues with those.
    """

    turns: Mapping[str, Turns]
    """By stream."""
    budget: PlanBudget
    clock: Clock
    planning_s: float = field(default=0.0, init=False)
    """How long the last round took."""
    _first: int = field(default=0, init=False)
    """Which stream comes first: while nobody waits for a plan, it may have all the time until somebody does."""

    @property
    def shards_left(self) -> int:
        """How many shards the last plan left for the next one."""
        return sum(len(turns.left) for turns in self.turns.values())

    @property
    def whole_planning_s(self) -> float:
        """How long the last round would have taken without a budget, at the same rate."""
        planned = sum(turns.planned for turns in self.turns.values())
        return self.planning_s * (1 + self.shards_left / max(1, planned))

    def plan(self, start: Offset, plan_stream: PlanStream, *, is_whole: bool) -> Offset:
        """Return the end of the next batch; *start* itself when nothing is new in any shard that is due."""
        started_s = self.clock.now_s()
        for turns in self.turns.values():
            turns.begin_round()
        while True:
            planned = self._plan_once(start, plan_stream, None if is_whole else self.budget)
            self.planning_s = self.clock.now_s() - started_s
            if planned is not start or not self.shards_left:
                return planned

    def _plan_once(self, start: Offset, plan_stream: PlanStream, budget: PlanBudget | None) -> Offset:
        names = list(self.turns)
        names = [*names[self._first :], *names[: self._first]]
        if budget is not None:
            budget.begin(len(names))
        planned = {name: plan_stream(name, budget) for name in names}
        if self.shards_left:
            self._first = (self._first + 1) % len(names)
        is_new = any(planned[name] is not start.streams[name] for name in names)
        return Offset({name: planned[name] for name in self.turns}) if is_new else start
