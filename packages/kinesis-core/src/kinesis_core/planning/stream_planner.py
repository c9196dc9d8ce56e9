"""
The planner of one stream: which shards may be read now, and how far the next batch reads them.

A plan goes from value to value:

1. `refresh` lists the shards, where the listing is old.
2. The frontier says which ones are ready: unfinished, their parents finished, and due.
3. Each of those is planned in its turn, from where it was read so far to an end (`batch_end`, or `tip`).
4. `DataLoss.find_end` settles whether an end is certain, still doubtful, or follows a loss. The ends are the `Draft`.
5. `finish` merges the draft into the offset where the next batch starts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial

from attrs import define, evolve, field, frozen

from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import InvalidRequestError, StreamNotFoundError, StreamNotReadyError, ThrottledError
from kinesis_core.model import (
    After,
    At,
    Cut,
    Listing,
    ShardEnd,
    ShardOffset,
    ShardRange,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning.batch_end import plan_end
from kinesis_core.planning.bells import Bells
from kinesis_core.planning.data_loss import DataLoss, FindEnd
from kinesis_core.planning.discovery import Discovery, Known, find_needless
from kinesis_core.planning.frontier import Frontier
from kinesis_core.planning.loss import LossReport
from kinesis_core.planning.offset_times import OffsetTimes, closed
from kinesis_core.planning.progress import is_lost
from kinesis_core.planning.schedule import IsSpent
from kinesis_core.planning.settings import PlanSettings
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.shard_states import ShardStates
from kinesis_core.planning.shares import Need, Shares
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.planning.tip import plan_tip
from kinesis_core.shards import RunAll

Plan = Callable[[ShardState, ShardOffset], ShardOffset]
"""Returns where a batch ends in a shard that was read so far; that itself where nothing is new."""
Targets = Mapping[str, ShardOffset]
"""Ends that no plan exceeds, by shard id: fixed once for a query that reads what is there now, and then ends."""


@frozen
class Draft:
    """How far the plan of one stream has come."""

    start: StreamOffset
    """Where the batch starts."""
    ends: Mapping[str, ShardOffset] = field(factory=dict)
    """The shards that have records in the batch, and expired ones."""
    is_whole: bool = True
    """Whether no shard was left for the next plan."""


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
    facts: StreamFacts = field(init=False)
    states: ShardStates = field(init=False)
    reports: LossReport = field(init=False)
    loss: DataLoss = field(init=False)
    times: OffsetTimes = field(init=False)
    discovery: Discovery = field(init=False)
    targets: Targets | None = field(default=None, init=False)
    """Of a run that ends. Shards without a target are left out."""
    bells: Bells | None = field(default=None, init=False)
    """Tell of new records; None where shards are only looked at."""
    _kept: tuple[StreamOffset, Frontier] | None = field(default=None, init=False)
    """Where a batch starts, and the frontier there."""

    def __attrs_post_init__(self) -> None:
        self.facts = StreamFacts(self.name, self.api, self.clock)
        self.reports = LossReport(self.name, self.settings.fail_on_data_loss)
        self.loss = DataLoss(self.reports, self.facts)
        on_expired = self.facts.see_same_stream
        self.states = ShardStates(self.name, self.api, self.settings, self.clock, self.rng, on_expired)
        self.times = OffsetTimes(self.facts, self.states.found)
        is_there, summary = (lambda shard_id: self.states.of(shard_id).calls.is_known()), self.facts.summary
        self.discovery = Discovery(
            self.name, self.api, self.clock, self.reports.report, is_there, summary, self.run_all
        )

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
        known = self._known(Draft(start))
        if self.discovery.is_outdated(known, self.settings.shard_discovery_interval_s):
            self.discovery.refresh(known, patiently=patiently or not self.discovery.is_checked)

    def plan(self, draft: Draft, shares: Shares | None, is_spent: IsSpent | None = None) -> Draft:
        """
        Return *draft* with where the batch may end in each shard, for `finish`: within *shares* and the targets, or at the tip.

        Shards that are not begun before the time *is_spent* keep their offset, and are in `states.turns.left`. A round plans each once.
        """
        if shares is None:
            to_tip = partial(self._plan_to_tip, plan_tip, is_continued=True)
            return self._plan(draft, partial(self._plan_in_batch, to_tip))
        turns = self.states.turns

        def is_due(shard_id: str) -> bool:
            if turns.is_over(shard_id) or self._is_reached(draft.start, shard_id):
                return False
            return self.states.of(shard_id).calls.limiter.wait_s(self.clock.now_s()) <= 0

        within = partial(self._plan_within, shares)
        return self._plan(draft, partial(self._plan_in_batch, within), is_due, is_spent)

    def finish(self, draft: Draft, *, keeps_times: bool = True) -> StreamOffset:
        """
        Return the end of the batch of *draft*; its start itself when nothing is new.

        With *keeps_times*, a batch without records may end a plan of all shards, to keep the times of offsets.
        """
        is_new = draft.ends or (keeps_times and draft.is_whole and self._is_outdated(draft.start))
        return self._merged(draft) if is_new else draft.start

    def tip(self, draft: Draft, find: Plan = plan_tip) -> StreamOffset:
        """Return the end of all records that are in the stream now, including children of finished shards."""
        self.refresh(draft.start, patiently=True)
        to_tip = partial(self._plan_to_tip, find, is_continued=False)
        return self.finish(self._plan(draft, partial(self._plan_one, to_tip)))

    def find_targets(self, draft: Draft) -> dict[str, ShardOffset]:
        """Return the end of every shard that has new records now."""
        start, tip = draft.start, self.tip(draft)
        moved = {s: end for s, end in tip.shards.items() if end.cut != start.started(s).cut}
        found = {s: end for s, end in moved.items() if not self.states.is_ended(start, s)}
        self.discovery.awaited = frozenset(found)  # an older listing that lacks them would end the run early
        return found

    def has_reached_targets(self, draft: Draft) -> bool:
        """Return whether no target is left. Also true without targets."""
        if not self.targets:
            return True
        start = draft.start
        left = ({*start.shards, *self.listing} & set(self.targets)) - self._frontier(start).finished
        return all(self._is_reached(start, s) for s in left)

    def left(self, draft: Draft) -> list[str]:
        """Return the shards that may be read now, without those that have reached their targets."""
        return [s for s in self._frontier(draft.start).shards if not self._is_reached(draft.start, s)]

    def needs(self, draft: Draft) -> dict[str, Need]:
        """Return about how much each shard may hold that can be read now, by a listing that is renewed first where it is old."""
        self.refresh(draft.start)
        return {s: self.states.need(s, self.started(draft, s)) for s in self.left(draft)}

    def waits_s(self, draft: Draft) -> Iterator[float]:
        """Yield in how many seconds each shard that may have new records can be read; nothing if no shard is left."""
        now_s = self.clock.now_s()
        return (self.states.of(s).calls.limiter.wait_s(now_s) for s in self.left(draft))

    def started(self, draft: Draft, shard_id: str) -> ShardOffset:
        """Return how far a shard has been read before the batch."""
        return self.times.started(draft.start, draft.ends, shard_id, self.listing)

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

    def with_facts(self, shard_range: ShardRange) -> ShardRange:
        """Return a range with what its task needs to know: the retention, and its records if they are few and were read just now."""
        state, page = self.states.found.get(shard_range.shard_id), None
        if state is not None:
            page = state.kept_page(shard_range.start.number, shard_range.end)
        return evolve(shard_range, retention_hours=self.facts.retention_hours(), page=page)

    def rest(self, shard_id: str) -> None:
        """Leave a shard to its other consumers for a moment, and their part of the calls, also if a bell ends that moment."""
        now_s, limiter = self.clock.now_s(), self.states.of(shard_id).calls.limiter
        limiter.spend(now_s, 1 / self.settings.quota_share - 1)
        rests_s = self.settings.look_period_s
        if self.bells:  # the look of a bell was early, and the next one is so much later: else there would be none left for a bell
            rests_s += limiter.early_s(now_s)
        limiter.doze(now_s + rests_s)

    def wake(self) -> None:
        """End the rest of the shards that have new records, as their bells say."""
        for shard_id in self.bells.take() if self.bells else ():
            if shard_id in self.states.found:
                self.states.of(shard_id).calls.limiter.wake()

    def hang_bells(self, draft: Draft) -> None:
        """Hang bells for the shards that have nothing new, where a consumer is there for that."""
        if self.bells:
            left = self.left(draft)
            self.bells.watch(left, (s for s in left if self.states.lag_ms(s) == 0))

    def _plan(
        self,
        draft: Draft,
        plan: Plan,
        is_due: Callable[[str], bool] | None = None,
        is_spent: IsSpent | None = None,
    ) -> Draft:
        """
        Plan the shards that may be read and are due, and continue with the children of those that turned out empty.

        Without *is_due*, children of shards that end in this very batch are planned as well. At least one shard is begun.
        """
        start, frontier, turns = draft.start, self._frontier(draft.start), self.states.turns
        turns.begin_plan()
        draft = evolve(draft, is_whole=True)
        while not turns.left and (ready := frontier.take(is_due or _always)):
            # Their states share the room for kept pages, so all are there before one is planned.
            for shard_id in ready:
                self.states.of(shard_id)
            planned = self._plan_each(ready, partial(self.started, draft), plan, is_spent)
            moved = {s: end for s, (started, end) in planned.items() if end.cut != started.cut}
            draft = Draft(start, {**draft.ends, **moved}, not turns.left)
            empty = [s for s in planned if self.states.is_ended(start, s)]
            ended = [*empty, *(s for s, (_, end) in planned.items() if end.cut == ShardEnd())]
            if self.discovery.lacks_children(ended):
                self.discovery.refresh(self._known(draft), patiently=is_due is None)
            frontier.move_on(empty if is_due else ended)
        return draft

    def _plan_each(
        self,
        shards: Sequence[str],
        start_of: Callable[[str], ShardOffset],
        plan: Plan,
        is_spent: IsSpent | None,
    ) -> dict[str, tuple[ShardOffset, ShardOffset]]:
        """
        Return the starts and ends of those shards for which there is time, in the order of *shards*.

        A plan that begins late plans one shard as well, so that it brings something.
        """
        turns = self.states.turns
        order = shards if is_spent is None else self.states.in_turn(shards, start_of)
        first = None if turns.is_begun else order[0]

        def plan_in_time(shard_id: str) -> tuple[ShardOffset, ShardOffset] | None:
            if is_spent is not None and shard_id != first and is_spent():
                return None
            started = start_of(shard_id)
            return started, plan(self.states.of(shard_id), started)

        planned = dict(zip(order, self.run_all(plan_in_time, order), strict=True))
        found = {s: ends for s in shards if (ends := planned[s]) is not None}
        turns.note(found, [s for s in shards if s not in found], self.clock.now_s())
        return found

    def _plan_in_batch(self, plan: Plan, state: ShardState, started: ShardOffset) -> ShardOffset:
        """Return where the batch ends in a shard. The next plan leaves the shard to the batch's task, or to other consumers, first."""
        end = self._plan_one(plan, state, started)
        is_kept = end.first is not None and state.kept_page(end.first, end.cut) is not None
        if end.cut == started.cut or (state.is_at_tip and is_kept):
            self.rest(state.shard_id)
        else:  # the task that reads the range shares the shard's quota
            state.calls.limiter.spend(self.clock.now_s())
        return end

    def _plan_one(self, plan: Plan, state: ShardState, started: ShardOffset) -> ShardOffset:
        """Return where the batch ends in a shard; *started* itself where it has no record of it."""
        end = self.plan_shard(state, started, plan)
        if end is None:
            return ShardOffset(ShardEnd())
        if end.cut in (started.cut, TrimHorizon()):
            return started
        if not isinstance(started.cut, (At, After)):
            # A stream created again refuses the old numbers. A start without a number it takes, in a shard of the same name.
            self.facts.see_same_stream()
        end = self.times.plausible(end)
        end = closed(end, started) if end.cut == ShardEnd() else end
        return end.as_end_from(started.cut)

    def _plan_within(self, shares: Shares, state: ShardState, started: ShardOffset) -> ShardOffset:
        """Return an end within the shard's share, and not beyond its target."""
        limits = shares.of(self.name, state.shard_id)
        target = None if self.targets is None else self.targets[state.shard_id]
        try:
            end = self.loss.find_end(state, started, partial(plan_end, state, limits=limits), target, limits)
        except ThrottledError:
            return started  # left for the next plan, so that no other shard waits
        state.calls.crosses_gaps = False
        state.note_use(limits, end)
        return end if target is None else no_further(state, started, end, target)

    def _plan_to_tip(
        self, find: Plan, state: ShardState, started: ShardOffset, *, is_continued: bool
    ) -> ShardOffset:
        """
        Return what *find* finds, however many calls it takes.

        *is_continued*: whether later plans continue where this one ends, so that it need not wait for shards that bring nothing.
        """
        waits = not is_continued or state.calls.crosses_gaps
        end = self._find_patiently(state, started, partial(find, state), waits=waits)
        if is_continued:
            state.calls.crosses_gaps = False
        return end

    def _find_patiently(
        self, state: ShardState, started: ShardOffset, find: FindEnd, *, waits: bool
    ) -> ShardOffset:
        """Return what *find* finds: a plan from where it got stuck is part of it. With *waits*, wait while the shard brings nothing."""
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

    def _is_reached(self, start: StreamOffset, shard_id: str) -> bool:
        """Return whether a run to targets has nothing left to plan in an unfinished shard: it has no target, or has reached it."""
        if self.targets is None:
            return False
        target = self.targets.get(shard_id)
        if target is None or self.states.is_ended(start, shard_id):
            return True
        return start.started(shard_id).cut == target.cut

    def _frontier(self, start: StreamOffset) -> Frontier:
        """Return the frontier where a batch starts. A plan asks for it several times, so it is kept until something has changed."""
        ended, kept = self.states.ended(start), self._kept
        if kept is None or not (kept[0] is start and kept[1].is_of(self.listing, ended)):
            frontier = Frontier(self.discovery, start.shards, start.finished(), ended)
            self._kept = kept = (start, frontier)
        return copy(kept[1])

    def _ended(self, draft: Draft) -> set[str]:
        """
        Return the shards that end in a batch, and ended shards whose parents are finished after it. A plan may have looked beyond
        unread shards.
        """
        start, ends = draft.start, draft.ends
        passed, found = {s for s, end in ends.items() if end.cut == ShardEnd()}, self.states.ended(start)
        if not found:
            return passed
        finished = Frontier(self.discovery, {*start.shards, *ends}, start.finished() | passed, found).finished
        return passed | (found & finished)

    def _known(self, draft: Draft) -> Known:
        start, ended = draft.start, self._ended(draft)
        named = {*start.shards, *draft.ends, *ended}
        return Known(named, start.finished() | ended, start.closed() | ended, named)

    def _is_outdated(self, start: StreamOffset) -> bool:
        shards, draft, stamp_ms = self._frontier(start).shards, Draft(start), self.facts.stamp_ms()
        return any(self.times.is_outdated(self.started(draft, s), s, self.listing, stamp_ms) for s in shards)

    def _merged(self, draft: Draft) -> StreamOffset:
        """Return the start with the ends, and with all that was found out since and was no reason for a batch."""
        start = draft.start
        ended, readable = self._ended(draft) - draft.ends.keys(), self._frontier(start).shards
        seen = {s: self.times.seen(start, s, self.listing) for s in {*start.shards, *ended, *readable}}
        shards = {s: p for s, p in seen.items() if s in start.shards or p.arrived_ms is not None}
        shards.update((s, closed(seen[s], seen[s])) for s in ended)
        shards.update((s, self.times.stamped(end, s, self.listing)) for s, end in draft.ends.items())
        needless = find_needless(start.finished() | ended, shards, self.listing)
        left = {s: p for s, p in shards.items() if s not in needless}
        return evolve(start, shards=left, kept_hours=self.facts.hours_to_save())


def _always(_: str) -> bool:
    return True


def no_further(state: ShardState, started: ShardOffset, end: ShardOffset, target: ShardOffset) -> ShardOffset:
    """Return *end*, or *target* where that comes first; without records where those up to it are lost."""
    if is_lost(state.progress, started.cut) and _is_past(state, end, target):
        return evolve(target, first=None)
    if end.cut == started.cut or not is_further(end.cut, target.cut):
        return end
    return evolve(target, first=end.first, estimate=end.estimate)


def _is_past(state: ShardState, end: ShardOffset, target: ShardOffset) -> bool:
    """Return whether the records that a loss has left, which a plan to *end* has found, come after *target*."""
    if end.cut == TrimHorizon():
        return state.is_at_tip
    return end.first is not None and end.first > _number(target.cut)


def is_further(end: Cut, other: Cut) -> bool:
    """Return whether *end* comes after *other*, the end of another plan of the shard. The oldest record comes after none."""
    return end != TrimHorizon() and _number(end) > _number(other)


def _number(cut: Cut) -> float:
    """Return the sequence number for comparing; a shard's end comes after all of them."""
    return cut.number if isinstance(cut, (At, After)) else float("inf")
