"""The planner of one stream: which shards may be read now, and how far the next batch reads them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial

from attrs import define, evolve, field

from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    InvalidRequestError,
    StreamNotFoundError,
    StreamNotReadyError,
    ThrottledError,
)
from kinesis_core.model import (
    OPTION_NAMES,
    After,
    At,
    Listing,
    PositionNames,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning.batch_end import plan_end
from kinesis_core.planning.data_loss import DataLoss, Find
from kinesis_core.planning.discovery import Discovery, Known, find_needless
from kinesis_core.planning.frontier import Frontier
from kinesis_core.planning.loss import LossReport
from kinesis_core.planning.offset_times import OffsetTimes, closed
from kinesis_core.planning.schedule import PlanBudget, RunAll
from kinesis_core.planning.settings import PlanSettings
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.shard_states import ShardStates
from kinesis_core.planning.shares import Need, Shares
from kinesis_core.planning.skew import Draft, begins_ms, cut_at, latest_ms, unread_since_ms
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.planning.targets import Targets, is_further, is_reached, no_further
from kinesis_core.planning.tip import plan_tip

Plan = Callable[[ShardState, ShardOffset], ShardOffset]

IDLE_PERIODS = 2
"""An idle shard is read half as often as `min_fetch_period_s` allows: other consumers share its quota."""


@define
class StreamPlanner:
    """
    Plans batches of one stream, shard by shard.

    The offsets alone decide which records are read. The state that is kept between two plans saves calls, and settles doubts
    whether records are lost.
    """

    name: str
    """As the user gave it: the stream's name or ARN."""
    api: StreamApi
    settings: PlanSettings
    clock: Clock
    rng: random.Random
    run_all: RunAll = map
    names: PositionNames = OPTION_NAMES
    """What errors call the start and the end of a read."""
    facts: StreamFacts = field(init=False)
    states: ShardStates = field(init=False)
    reports: LossReport = field(init=False)
    loss: DataLoss = field(init=False)
    times: OffsetTimes = field(init=False)
    discovery: Discovery = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.facts = StreamFacts(self.name, self.api, self.clock)
        self.reports = LossReport(self.name, self.settings.fail_on_data_loss, self.names[0])
        self.loss = DataLoss(self.reports, self.facts)
        on_expired = self.facts.see_same_stream
        self.states = ShardStates(self.name, self.api, self.settings, self.clock, self.rng, on_expired)
        self.times = OffsetTimes(self.facts, self.states.found)
        is_there, summary = (lambda shard_id: self.states.of(shard_id).calls.is_known()), self.facts.summary
        self.discovery = Discovery(self.name, self.api, self.clock, self.reports.report, is_there, summary)

    @property
    def listing(self) -> Listing:
        return self.discovery.listing

    def discover(self, expected: Collection[str] = (), *, from_oldest: bool = False) -> Listing:
        """List the shards, and wait until the listing is complete and has those *expected* that still exist."""
        known = Known(expected=frozenset(expected), from_oldest=from_oldest)
        return self.discovery.refresh(known, patiently=True)

    def refresh(self, start: StreamOffset, *, patiently: bool = False) -> None:
        """Check that *start* is of this very stream, and renew an old listing. Wait until the first listing is complete."""
        self.facts.begin_plan(start.created_ms, start.kept_hours)
        known = self._known(start, {})
        if self.discovery.is_outdated(known, self.settings.shard_discovery_interval_s):
            self.discovery.refresh(known, patiently=patiently or not self.discovery.is_checked)

    def draft(
        self,
        start: StreamOffset,
        shares: Shares,
        targets: Targets | None = None,
        budget: PlanBudget | None = None,
        until_ms: float = float("inf"),
    ) -> Draft:
        """
        Return where the next batch may end in each shard, for `hold` and `finish`.

        It looks for no records that arrived after *until_ms* (ms since the epoch). With *targets*, no shard is planned beyond its
        target, and shards without a target are left out. With a *budget*, shards that are not begun in time keep their offset, and
        are in `states.turns.left`. A round plans each shard once.
        """
        turns = self.states.turns

        def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
            target = None if targets is None else targets[state.shard_id]
            limits = evolve(shares.of(self.name, state.shard_id), until_ms=until_ms)
            try:
                find = partial(plan_end, state, limits=limits)
                end = self.loss.find_end(state, started, find, target, limits)
            except ThrottledError:
                return started  # left for the next plan, so that no other shard waits
            state.calls.crosses_gaps = False
            state.note_use(limits, end)
            return end if target is None else no_further(state, started, end, target)

        def is_due(shard_id: str) -> bool:
            is_done = targets is not None and is_reached(start, self.states, shard_id, targets)
            if is_done or turns.is_over(shard_id):
                return False
            return self.states.of(shard_id).calls.limiter.wait_s(self.clock.now_s()) <= 0

        return self._plan(start, plan, is_due, includes_children=False, budget=budget)

    def behind(self, draft: Draft, before_ms: float, targets: Targets | None) -> dict[str, float]:
        """Return the shards that the batch of *draft* leaves with unread records from before a time, and since when those are."""
        found: dict[str, float] = {}
        for shard_id, end in draft.ends.items():
            if (end.arrived_ms or 0) >= before_ms:
                continue
            # What follows a target is read by another run, but for the children of a closed shard.
            if targets and end.cut == targets[shard_id].cut != ShardEnd():
                continue
            shard = self.listing.get(shard_id)
            is_open = shard is None or shard.is_open
            since_ms = unread_since_ms(self.states.of(shard_id), end, is_open=is_open)
            if since_ms is not None and since_ms < before_ms:
                found[shard_id] = since_ms
        for shard_id in self._left(draft.start, targets):
            if shard_id not in draft.ends:
                since_ms = self.begins_ms(draft.start, draft.ends, shard_id)
                if since_ms < before_ms:
                    found[shard_id] = since_ms
        return found

    def begins_ms(self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str) -> int:
        """Return a time before which no record arrived in a shard after *start*, nor in its children; 0 where none is known."""
        started = self.times.stamped(self._started(start, ends, shard_id), shard_id, self.listing)
        return begins_ms(self.states.found.get(shard_id), started)

    def hold(self, draft: Draft, until_ms: float, holding: Collection[str]) -> tuple[Draft, dict[str, float]]:
        """
        Return *draft* without the records that arrived after *until_ms*.

        A shard that is *holding* the others by that time keeps its end if no record would be left: its arrival times are out of
        order, and it would hold itself for ever.
        Also return the shards whose end could not be found, as `behind` does: they are left for the next plan.
        """
        late = [s for s, end in draft.ends.items() if latest_ms(end) > until_ms]
        started = {s: self._started(draft.start, draft.ends, s) for s in late}
        unknown: dict[str, float] = {}

        def plan(state: ShardState, begin: ShardOffset) -> ShardOffset:
            end = None
            with suppress(ThrottledError):
                end = cut_at(state, begin, draft.ends[state.shard_id], int(until_ms))
            if end is None:
                unknown[state.shard_id] = begins_ms(state, begin)
            return end or begin

        def cut(shard_id: str) -> ShardOffset | None:
            return self.plan_shard(self.states.of(shard_id), started[shard_id], plan)

        cuts = dict(zip(late, self.run_all(cut, late), strict=True))
        ends = dict(draft.ends)
        for shard_id, end in cuts.items():
            if end is None or end is started[shard_id]:
                if shard_id in unknown or shard_id not in holding:
                    del ends[shard_id]
                    self._rest(shard_id)
            else:
                ends[shard_id] = self.times.plausible(end)
        return evolve(draft, ends=ends), unknown

    def finish(self, draft: Draft, *, keeps_times: bool = True) -> StreamOffset:
        """
        Return the end of the batch of *draft*; its start itself when nothing is new.

        With *keeps_times*, a batch without records may end a plan of all shards, to keep the times of offsets.
        """
        is_new = draft.ends or (keeps_times and draft.is_whole and self._is_outdated(draft.start))
        return self._merged(draft.start, draft.ends) if is_new else draft.start

    def tip(self, start: StreamOffset, plan_shard: Plan = plan_tip) -> StreamOffset:
        """Return the end of all records after *start* that are in the stream now, also in children of finished shards."""
        return self.finish(self.draft_tip(start, plan_shard))

    def draft_tip(
        self, start: StreamOffset, plan_shard: Plan = plan_tip, *, is_continued: bool = False
    ) -> Draft:
        """
        Return where all records after *start* end that are in the stream now, also in children of finished shards.

        *is_continued*: whether later plans continue where this one ends, so that it need not wait for shards that bring nothing.
        """

        def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
            waits = not is_continued or state.calls.crosses_gaps
            end = self._find_patiently(state, started, partial(plan_shard, state), waits=waits)
            if is_continued:
                state.calls.crosses_gaps = False
            return end

        return self._plan(start, plan, lambda _: True, includes_children=True)

    def targets(self, start: StreamOffset) -> dict[str, ShardOffset]:
        """Return the end of every shard that has records after *start* now."""
        moved = {s: p for s, p in self.tip(start).shards.items() if p.cut != start.started(s).cut}
        found = {s: p for s, p in moved.items() if not self.states.is_ended(start, s)}
        self.discovery.awaited = frozenset(found)  # an older listing that lacks them would end the run early
        return found

    def needs(self, start: StreamOffset, targets: Targets | None = None) -> dict[str, Need]:
        """Return about how much each shard may hold that can be read now, by a listing that is renewed first where it is old."""
        self.refresh(start)
        left = self._left(start, targets)
        return {s: self.states.need(s, self._started(start, {}, s)) for s in left}

    def has_reached(self, start: StreamOffset, targets: Targets) -> bool:
        left = ({*start.shards, *self.listing} & set(targets)) - self._frontier(start).finished
        return all(is_reached(start, self.states, s, targets) for s in left)

    def waits_s(self, start: StreamOffset, targets: Targets | None = None) -> list[float]:
        """Return in how many seconds each shard that may have new records can be read; none if no shard is left."""
        now, left = self.clock.now_s(), self._left(start, targets)
        return [self.states.of(s).calls.limiter.wait_s(now) for s in left]

    def _left(self, start: StreamOffset, targets: Targets | None) -> list[str]:
        """Return the shards that may be read now, without those that have reached their targets."""
        shards = self._frontier(start).shards
        return [s for s in shards if targets is None or not is_reached(start, self.states, s, targets)]

    def _plan(
        self,
        start: StreamOffset,
        plan: Plan,
        is_due: Callable[[str], bool],
        *,
        includes_children: bool,
        budget: PlanBudget | None = None,
    ) -> Draft:
        """
        Plan all shards that may be read and are due, and continue with the children of those that turned out empty.

        With *includes_children*, children of shards that end in this very batch are planned as well. At least one shard is begun.
        """
        self.refresh(start, patiently=includes_children)
        ends: dict[str, ShardOffset] = {}
        frontier, turns = self._frontier(start), self.states.turns
        turns.begin_plan()
        budget = budget or PlanBudget(self.clock, None)
        with budget.of_one_stream():
            while not turns.left and (ready := frontier.take(is_due)):
                started = {s: self._started(start, ends, s) for s in ready}
                found = self.states.plan_in_turn(
                    started, partial(self._plan_shard, started, plan), self.run_all, budget
                )
                ends.update((s, end) for s, end in found.items() if end.cut != started[s].cut)
                empty = [s for s in found if self.states.is_ended(start, s)]
                ended = [*empty, *(s for s, end in found.items() if end.cut == ShardEnd())]
                if self.discovery.lacks_children(ended):
                    self.discovery.refresh(self._known(start, ends), patiently=includes_children)
                frontier.move_on(ended if includes_children else empty)
        return Draft(start, ends, not turns.left)

    def plan_shard(self, state: ShardState, started: ShardOffset, plan: Plan) -> ShardOffset | None:
        """Return what *plan* returns; None for a shard that Kinesis no longer knows. That is reported where it is a loss."""
        self.times.check(state.shard_id, started)
        try:
            end = plan(state, started)
        except (InvalidRequestError, StreamNotReadyError):
            self.facts.see_same_stream()  # raises if the offset is of a stream that was deleted since
            raise
        except StreamNotFoundError:
            self.facts.see_same_stream()  # raises if the stream itself is gone
            self.loss.report_gone(state, started, self.listing.get(state.shard_id))
            state.calls.throttled.clear()
            return None
        state.evidence = state.evidence.with_promise(
            self.times.stamped(started, state.shard_id, self.listing).arrived_ms
        )
        return end

    def _plan_shard(self, starts: Mapping[str, ShardOffset], plan: Plan, shard_id: str) -> ShardOffset:
        state, started = self.states.of(shard_id), starts[shard_id]
        end = self.plan_shard(state, started, plan)
        if end is None:
            return ShardOffset(ShardEnd())
        now, limiter = self.clock.now_s(), state.calls.limiter
        if end.cut in (started.cut, TrimHorizon()):
            self._rest(shard_id)
            return started
        if not isinstance(started.cut, (At, After)):
            # A stream created again refuses the old numbers. A start without a number it takes, in a shard of the same name.
            self.facts.see_same_stream()
        limiter.spend(now)  # the task that reads the range shares the shard's quota
        end = self.times.plausible(end)
        end = closed(end, started) if end.cut == ShardEnd() else end
        return end.as_end_from(started.cut)

    def _find_patiently(
        self, state: ShardState, started: ShardOffset, find: Find, *, waits: bool
    ) -> ShardOffset:
        """
        Return what *find* finds, however many calls it takes: a plan from where it got stuck is part of it.

        *waits*: whether it waits while the shard brings nothing. Otherwise the next plan continues.
        """
        end: ShardOffset | None = None
        while end is None or (waits and state.stall.is_on):
            with state.calls.patiently():
                end = self.loss.find_end(state, started, find)
        if end.cut in (started.cut, TrimHorizon()) or not state.is_stuck(end.cut):
            return end
        further = self._find_patiently(state, end, find, waits=waits)
        if state.is_ended(end.cut):
            return evolve(end, cut=ShardEnd())  # its children are part of the batch
        return evolve(further, first=end.first) if is_further(further.cut, end.cut) else end

    def _rest(self, shard_id: str) -> None:
        """Leave a shard without new records to its other consumers for a moment."""
        rested_s = self.clock.now_s() + IDLE_PERIODS * self.settings.min_fetch_period_s
        self.states.of(shard_id).calls.limiter.rest(rested_s)

    def _frontier(self, start: StreamOffset) -> Frontier:
        return Frontier(self.discovery, start.shards, start.finished(), self.states.ended(start))

    def _ended(self, start: StreamOffset, ends: Mapping[str, ShardOffset]) -> set[str]:
        """
        Return the shards that end in a batch, and those that were found ended and whose parents are finished after it: a plan may
        have looked beyond unread ones.
        """
        passed, found = {s for s, end in ends.items() if end.cut == ShardEnd()}, self.states.ended(start)
        if not found:
            return passed
        finished = Frontier(self.discovery, {*start.shards, *ends}, start.finished() | passed, found).finished
        return passed | (found & finished)

    def _known(self, start: StreamOffset, ends: Mapping[str, ShardOffset]) -> Known:
        ended = self._ended(start, ends)
        named = {*start.shards, *ends, *ended}
        return Known(named, start.finished() | ended, start.closed() | ended, named)

    def _is_outdated(self, start: StreamOffset) -> bool:
        shards = self._frontier(start).shards
        return any(self.times.is_outdated(self._started(start, {}, s), s, self.listing) for s in shards)

    def _started(self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str) -> ShardOffset:
        return self.times.started(start, ends, shard_id, self.listing)

    def _merged(self, start: StreamOffset, ends: Mapping[str, ShardOffset]) -> StreamOffset:
        """Return *start* with *ends*, and with all that was found out since and was no reason for a batch."""
        ended, readable = self._ended(start, ends) - ends.keys(), self._frontier(start).shards
        seen = {s: self.times.seen(start, s, self.listing) for s in {*start.shards, *ended, *readable}}
        shards = {s: p for s, p in seen.items() if s in start.shards or p.arrived_ms is not None}
        shards.update((s, closed(seen[s], seen[s])) for s in ended)
        shards.update((s, self.times.stamped(end, s, self.listing)) for s, end in ends.items())
        needless = find_needless(start.finished() | ended, shards, self.listing)
        left = {s: p for s, p in shards.items() if s not in needless}
        return evolve(start, shards=left, kept_hours=self.facts.hours_to_save())
