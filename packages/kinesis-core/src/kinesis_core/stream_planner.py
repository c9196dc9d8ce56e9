"""The planner of one stream: which shards may be read now, and how far in the next batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping

from attrs import define, evolve, field, frozen

from kinesis_core.clock import Clock
from kinesis_core.cuts import ShardEnd, TrimHorizon
from kinesis_core.data_loss import DataLoss
from kinesis_core.discovery import Discovery, is_known
from kinesis_core.errors import IteratorExpiredError, StreamNotFoundError, StreamRecreatedError
from kinesis_core.frontier import Frontier
from kinesis_core.lineage import Known, find_needless
from kinesis_core.offsets import Position, StreamOffset
from kinesis_core.pace import Pace
from kinesis_core.shard_planner import PASSING, Limits, plan_end
from kinesis_core.shard_tip import plan_tip
from kinesis_core.shard_view import ShardView
from kinesis_core.shards import Listing
from kinesis_core.stream_api import StreamApi, StreamSummary
from kinesis_core.targets import Targets, no_further

Plan = Callable[[ShardView, Position], Position]
RunAll = Callable[[Callable[[str], Position], Iterable[str]], Iterable[Position]]
"""Applies a function to every shard id, as `map` does; concurrently, if it likes."""

PLANNER_BURST = 3
"""Calls that one plan may make at once on a shard before it spreads them."""
RETENTION_KNOWN_S = 600.0
"""It may be changed while a query runs; AWS takes minutes for that, too."""
IDLE_PERIODS = 2
"""An idle shard is asked half as often as its quota would bear: other consumers want to read as well."""


@frozen
class PlanSettings:
    """How the planner goes about it. Times in seconds."""

    limits: Limits = field(factory=Limits)
    min_fetch_period_s: float = 0.2
    shard_discovery_interval_s: float = 10.0
    fail_on_data_loss: bool = True
    first_plan_crosses_gaps: bool = True
    """Whether gaps are walked to their end at first, since a run may have one plan only. It holds up other shards."""


@define
class StreamPlanner:
    """
    Plans batches of one stream, shard by shard.

    Everything it remembers between two plans saves calls; the offsets alone decide what is read.
    """

    name: str
    """As the user gave it: the stream's name or ARN."""
    api: StreamApi
    settings: PlanSettings
    clock: Clock
    rng: random.Random
    run_all: RunAll = map
    loss: DataLoss = field(init=False)
    discovery: Discovery = field(init=False)
    _views: dict[str, ShardView] = field(factory=dict, init=False)
    _summary: StreamSummary | None = field(default=None, init=False)
    _described_s: float = field(default=0.0, init=False)

    @loss.default
    def _watch_for_loss(self) -> DataLoss:
        return DataLoss(self.name, self.settings.fail_on_data_loss, self._retention_hours)

    @discovery.default
    def _discover_shards(self) -> Discovery:
        is_there, summary = (lambda shard_id: is_known(self.view(shard_id))), self.summary
        return Discovery(self.name, self.api, self.clock, self.loss.report, is_there, summary)

    @property
    def listing(self) -> Listing:
        return self.discovery.listing

    def summary(self) -> StreamSummary:
        if self._summary is None:
            self._summary, self._described_s = self.api.describe(), self.clock.now_s()
        return self._summary

    def _retention_hours(self) -> int:
        """Return the retention as it was some minutes ago: it may be changed while a query runs."""
        if self.clock.now_s() - self._described_s > RETENTION_KNOWN_S:
            self._summary = None
        return self.summary().retention_hours

    def discover(self, expected: Collection[str] = ()) -> Listing:
        """List the shards anew, and wait until the listing is whole and has those *expected* that are still there."""
        return self.discovery.refresh(Known(expected=frozenset(expected)), patiently=True)

    def refresh(self, start: StreamOffset, *, patiently: bool = False) -> None:
        """See that *start* is of this very stream, and the listing recent enough. The first one is waited for until it is whole."""
        created_ms = self.summary().created_ms
        if start.created_ms != created_ms:
            raise StreamRecreatedError(
                f"The checkpoint is of a stream created at {start.created_ms} (ms since the epoch), this one was created at "
                f"{created_ms}: it was deleted and made anew, and the saved positions mean nothing in it. "
                f"Start with a new checkpoint directory. [stream={self.name}]"
            )
        known = self._known(start, {})
        if self.discovery.is_outdated(known, self.settings.shard_discovery_interval_s):
            self.discovery.refresh(known, patiently=patiently or not self.discovery.is_checked)

    def view(self, shard_id: str) -> ShardView:
        if shard_id not in self._views:
            pace = Pace(self.settings.min_fetch_period_s, PLANNER_BURST)
            view = ShardView(self.api, shard_id, self.clock, pace, self.rng, self.name)
            view.crosses_gaps = self.settings.first_plan_crosses_gaps
            self._views[shard_id] = view
        return self._views[shard_id]

    def next(self, start: StreamOffset, limits: Limits, targets: Targets | None = None) -> StreamOffset:
        """
        Return the end of the next batch; *start* itself when nothing is new.

        With *targets*, no shard is planned beyond its target, and shards without one are left out.
        """

        def plan(view: ShardView, begun: Position) -> Position:
            target = None if targets is None else targets[view.shard_id]
            try:
                end = self.loss.plan(view, begun, lambda b: plan_end(view, b, limits), target)
            except PASSING:
                return begun  # left for the next plan, so that it holds up no other shard
            view.crosses_gaps = False
            return end if target is None else no_further(view, begun, end, target)

        def is_due(shard_id: str) -> bool:
            is_done = targets is not None and self._is_reached(start, shard_id, targets)
            return not is_done and self.view(shard_id).pace.wait_s(self.clock.now_s()) <= 0

        return self._plan(start, plan, is_due, chained=False)

    def tip(self, start: StreamOffset, plan_shard: Plan = plan_tip) -> StreamOffset:
        """Return the end of all that lies behind *start* in the stream now, in children of finished shards as well."""

        def plan(view: ShardView, begun: Position) -> Position:
            with view.patiently():
                while True:
                    try:
                        return self.loss.plan(view, begun, lambda start: plan_shard(view, start))
                    except IteratorExpiredError:
                        continue

        return self._plan(start, plan, lambda _: True, chained=True)

    def targets(self, start: StreamOffset) -> dict[str, Position]:
        """Return the end of every shard that has something behind *start* now."""
        tips = self.tip(start).shards.items()
        return {s: p for s, p in tips if p.cut != start.begun(s).cut and not self._is_ended(start, s)}

    def has_reached(self, start: StreamOffset, targets: Targets) -> bool:
        left = ({*start.shards, *self.listing} & set(targets)) - self._frontier(start).finished
        return all(self._is_reached(start, s, targets) for s in left)

    def due_s(self, start: StreamOffset, targets: Targets | None = None) -> float:
        """Return in how many seconds the next shard that may have news can be asked; a period when there is none."""
        now, shards = self.clock.now_s(), self._frontier(start).shards
        asked = [s for s in shards if targets is None or not self._is_reached(start, s, targets)]
        return min((self.view(s).pace.wait_s(now) for s in asked), default=self.settings.min_fetch_period_s)

    def lag_ms(self) -> dict[str, int]:
        """Return how far behind its tip each shard was when last asked."""
        return {s: v.millis_behind for s, v in sorted(self._views.items()) if v.millis_behind is not None}

    def _plan(
        self, start: StreamOffset, plan: Plan, is_due: Callable[[str], bool], *, chained: bool
    ) -> StreamOffset:
        """
        Plan all shards that may be read and are due, and go on with the children of those that turned out empty.

        With *chained*, children of shards that end in this very batch are planned as well.
        """
        self.refresh(start, patiently=chained)
        ends: dict[str, Position] = {}
        frontier = self._frontier(start)
        while ready := frontier.take(is_due):
            planned = self.run_all(lambda s: self._plan_shard(s, start.begun(s), plan), ready)
            found = dict(zip(ready, planned, strict=True))
            ends.update((s, end) for s, end in found.items() if end.cut != start.begun(s).cut)
            empty = [s for s in ready if self._is_ended(start, s)]
            ended = [*empty, *(s for s, end in found.items() if end.cut == ShardEnd())]
            if self.discovery.lacks_children(ended):
                self.discovery.refresh(self._known(start, ends), patiently=chained)
            frontier.move_on(ended if chained else empty)
        if ends or any(self.loss.is_outdated(self._views.get(s), p) for s, p in start.shards.items()):
            return self._merged(start, ends)
        return start

    def _plan_shard(self, shard_id: str, begun: Position, plan: Plan) -> Position:
        view = self.view(shard_id)
        try:
            end = plan(view, begun)
        except StreamNotFoundError:
            self.api.describe()  # says so if it is the stream that is gone
            self.loss.report(shard_id, begun, "Kinesis no longer knows the shard")
            view.millis_behind = None
            return Position(ShardEnd())
        now = self.clock.now_s()
        if view.idle_at_ms(begun.cut) is not None:
            view.more_behind = None
        if end.cut in (begun.cut, TrimHorizon()):
            view.pace.rest(now + IDLE_PERIODS * self.settings.min_fetch_period_s)
            return begun
        view.more_behind = end.cut if view.millis_behind else None
        view.pace.spend(now)  # the task that reads the range shares the shard's quota
        end = evolve(end, arrived_ms=view.now_ms()) if end.cut == ShardEnd() else self.loss.seen(view, end)
        return end.as_end_from(begun.cut)

    def _is_ended(self, start: StreamOffset, shard_id: str) -> bool:
        """Return whether the shard was found closed with nothing behind *start*; the offset may not say so yet."""
        return shard_id in self._views and self._views[shard_id].is_ended(start.begun(shard_id).cut)

    def _is_reached(self, start: StreamOffset, shard_id: str, targets: Targets) -> bool:
        target = targets.get(shard_id)
        if target is None or self._is_ended(start, shard_id):
            return True
        # A shard may be gone before its target is reached.
        return start.begun(shard_id).cut in (target.cut, ShardEnd())

    def _frontier(self, start: StreamOffset) -> Frontier:
        return Frontier(self.discovery, start.shards, start.finished() | self._ended(start))

    def _ended(self, start: StreamOffset) -> set[str]:
        return {shard_id for shard_id in self._views if self._is_ended(start, shard_id)}

    def _known(self, start: StreamOffset, ends: Mapping[str, Position]) -> Known:
        ended = self._ended(start) | {s for s, end in ends.items() if end.cut == ShardEnd()}
        named = {*start.shards, *ends, *ended}
        return Known(named, start.finished() | ended, start.closed() | ended, named)

    def _merged(self, start: StreamOffset, ends: Mapping[str, Position]) -> StreamOffset:
        """Return *start* moved on to *ends*, with all that was found out since and was no reason for a batch."""
        ended = self._ended(start)
        begun = {s: start.begun(s).carried_over() for s in [*start.shards, *ended]}
        shards = {s: self.loss.seen(self._views.get(s), position) for s, position in begun.items()}
        shards.update((s, evolve(shards[s], cut=ShardEnd())) for s in ended)
        shards.update(ends)
        needless = find_needless(start.finished() | ended, shards, self.listing)
        return evolve(start, shards={s: position for s, position in shards.items() if s not in needless})
