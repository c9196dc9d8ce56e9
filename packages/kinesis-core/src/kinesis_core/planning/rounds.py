"""Rounds: plans of several streams, one after the other, until a batch is found or each shard was planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.model import Offset, StreamOffset
from kinesis_core.planning.plan_budget import PlanBudget
from kinesis_core.planning.skew import Draft
from kinesis_core.planning.turns import Turns

DraftStream = Callable[[str, PlanBudget | None], Draft]
"""Plans the next batch in a stream, within a budget or whole: those shards that are due and were not planned in this round."""
Finish = Callable[[Mapping[str, Draft]], Mapping[str, StreamOffset] | None]
"""Returns the ends that the plans of all streams have together; None if the shards that were left out have to be planned first."""


@define
class Rounds:
    """
    Shares the budget of a plan among streams.

    A plan that ran out of time and found nothing new says nothing of the shards that it left out. So the round continues with those. It
    also does where they are too far behind the others to be left for the next batch.
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

    def plan(self, start: Offset, draft_stream: DraftStream, finish: Finish, *, is_whole: bool) -> Offset:
        """Return the end of the next batch; *start* itself when nothing is new in any shard that is due."""
        started_s = self.clock.now_s()
        drafts: dict[str, Draft] = {}
        for turns in self.turns.values():
            turns.begin_round()
        while True:
            for name, later in self._draft_once(draft_stream, None if is_whole else self.budget).items():
                drafts[name] = drafts[name].joined(later) if name in drafts else later
            planned = finish(drafts)
            self.planning_s = self.clock.now_s() - started_s
            is_whole = planned is None
            if planned is not None and any(planned[name] is not start.streams[name] for name in planned):
                return Offset({name: planned[name] for name in self.turns})
            if not self.shards_left:
                return start

    def _draft_once(self, draft_stream: DraftStream, budget: PlanBudget | None) -> dict[str, Draft]:
        names = list(self.turns)
        names = [*names[self._first :], *names[: self._first]]
        if budget is not None:
            budget.begin(len(names))
        drafts = {name: draft_stream(name, budget) for name in names}
        if self.shards_left:
            self._first = (self._first + 1) % len(names)
        return drafts
