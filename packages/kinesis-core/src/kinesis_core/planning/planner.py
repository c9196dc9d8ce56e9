"""Planner: fixes on the driver, before any task runs, exactly which records the next batch has."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping

from attrs import evolve

from kinesis_core.aws import StreamApi, SubscribeApi
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import OffsetError
from kinesis_core.model import (
    HOUR_MS,
    KclApplication,
    Offset,
    OneStreamStart,
    RangeGroup,
    ShardOffset,
    ShardRange,
    StartingPosition,
    StreamOffset,
    group_ranges,
    position_in,
    ranges_between,
)
from kinesis_core.planning.bells import MOST, Bells
from kinesis_core.planning.pacing import log_planned
from kinesis_core.planning.schedule import Lanes, LastPlan, Schedule
from kinesis_core.planning.settings import Limits, PlanSettings
from kinesis_core.planning.shares import Shares, divide_limits
from kinesis_core.planning.skew import Skew
from kinesis_core.planning.start_positions import begin, end, late_error
from kinesis_core.planning.stream_planner import Draft, StreamPlanner
from kinesis_core.shards import MARGIN_MS, certain_from_ms
from kinesis_credentials.advice import Advice, Setting
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


NO_LIMITS = Shares({}, Limits())
TOGETHER_S = 0.5
"""
In a run that ends at targets, a shard that can be read this soon after the first one is planned with it, because another batch
takes longer.
"""
LONG_HOURS = 6.0
"""A quarter of the shortest retention. Such a batch takes long, and its first records may expire before it is done."""


class Planner:
    """
    Plans batches over one or several streams.

    The offsets that it returns have all that is needed: another planner continues from them, on another machine as well.
    Not thread-safe; it uses up to *threads* threads itself. Only `range_groups` and `set_awaited` may be called at the same time.
    """

    def __init__(
        self,
        apis: Mapping[str, StreamApi],
        settings: PlanSettings | None = None,
        *,
        threads: int = 8,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._lanes = Lanes(threads) if threads > 1 else None
        self._settings = settings or PlanSettings()
        run_all = self._lanes.run_all if self._lanes else map
        self._rng = rng = rng or random.Random()  # noqa: S311 # jitter, not a secret
        self._rang: threading.Event | None = None
        self._streams = {
            name: StreamPlanner(name, api, self._settings, self._clock, rng, run_all)
            for name, api in sorted(apis.items())
        }
        turns = {name: planner.states.turns for name, planner in self._streams.items()}
        self._schedule = Schedule(turns, self._clock, self._settings.plan_budget_s)
        skew_s = self._settings.max_shard_skew_s
        self._skew = Skew(self._streams, float("inf") if skew_s is None else skew_s * 1000, self._clock)
        self._is_whole = self._settings.first_plan_crosses_gaps  # the first plan may be the only one
        self._fixes_targets = False

    def initial_offset(self, position: StartingPosition) -> Offset:
        """
        Return the offset where reading starts. LATEST means the tip of each shard now.

        The plan after it is whole: the first records of a shard may be about to expire.

        Raises:
            OptionError: The position is in the future, names a shard that does not exist, or says nothing of some stream.
            DataLossError: A record that it names has expired, and a loss stops the query. Where a time is the
                start, the first plan raises it.
        """
        starts = self._by_stream(position, Setting.START)
        self._is_whole = True
        return Offset({name: begin(self._streams[name], start) for name, start in starts.items()})

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        """
        Return the end of the next batch, *start* itself when nothing is new.

        Waits until a shard may be read again: a loop of calls stays within the quota. Without *bounded* the batch reaches
        the tip of every shard, whatever its size. A bounded plan begins no shard after `plan_budget_s`, unless nothing is new
        until then.
        """
        self._check(start)
        drafts = {name: Draft(start.streams[name]) for name in self._streams}
        if self._fixes_targets:
            for name, planner in self._streams.items():
                planner.targets = planner.find_targets(drafts[name])
            self._fixes_targets = False
        while True:
            self._await_due(drafts)
            is_whole, self._is_whole = self._is_whole or not bounded, False
            shares = self._shares(drafts, bounded, is_whole)
            planned = self._plan_round(drafts, shares, is_whole=is_whole)
            if bounded and not self._is_to_targets:
                for name, planner in self._streams.items():
                    planner.hang_bells(drafts[name])
            if planned is not None:
                if shares is None:
                    self._warn_of_backlog(planned)
                return planned
            if self._has_reached_targets(drafts):
                return start

    def listen(self, consumers: Mapping[str, SubscribeApi], rang: threading.Event | None = None) -> None:
        """
        Let consumers of enhanced fan-out tell of new records, by stream: a bounded plan then waits for no look at an idle shard.

        Each shard without new records has a thread and a subscription from then on, which receives all of its records; at most 500
        shards have one. *rang* is what the planner waits for.
        """
        self._rang = rang or threading.Event()
        for name, api in consumers.items():
            most = MOST // len(consumers)
            self._streams[name].bells = Bells(name, api, self._clock, self._rng, self._rang, most=most)

    def end_offset(
        self, start: Offset, position: StartingPosition, started_at: StartingPosition | None = None
    ) -> Offset:
        """
        Return the end of one batch from *start* to *position*; LATEST means the tip of each shard now.

        *started_at* is the position that *start* came from, if any.

        Raises:
            OptionError: *position* is in the future, names a shard that does not exist, or all shards start after their end.
            DataLossError: Records after *start* have expired, or may have, and a loss stops the query.
        """
        self._check(start)
        ends = self._by_stream(position, Setting.END)
        if started_at is not None:
            self._check_order(start, self._by_stream(started_at, Setting.START), ends)
        started_s = self._clock.now_s()
        ended = Offset({n: end(self._streams[n], start.streams[n], at) for n, at in ends.items()})
        self._schedule.last_plan = LastPlan(self._clock.now_s() - started_s)
        log_planned(start, ended, self)
        return ended

    def fix_targets(self) -> None:
        """From the next plan on, plan up to the records that are in the streams at that moment, and no later ones."""
        self._fixes_targets = True

    def range_groups(self, start: Offset, end: Offset) -> list[RangeGroup]:
        """Return the ranges between two offsets. Those of related shards are in the order in which to read them."""
        self._check(end)
        ranges = ranges_between(start, end)
        for name in {r.stream for r in ranges}:
            # A restarted query replays its last batch before it has planned anything.
            if not self._streams[name].discovery.is_checked:
                self._streams[name].refresh(_unread(end.streams[name], ranges, name))
        ranges = [self._streams[r.stream].with_facts(r) for r in ranges]
        return group_ranges(ranges, {name: p.listing for name, p in self._streams.items()})

    @property
    def last_plan(self) -> LastPlan:
        return self._schedule.last_plan

    def set_awaited(self, is_awaited: bool) -> None:
        """Set whether a query waits for the plans from now on. This includes a plan that is being made. Only then the budget counts."""
        self._schedule.is_awaited = is_awaited

    def lag_ms(self) -> dict[str, dict[str, int]]:
        """Return by stream and shard how many milliseconds behind the tip the last plan was."""
        return {name: planner.states.lags_ms() for name, planner in self._streams.items()}

    def retention_hours(self) -> dict[str, int]:
        """Return the retention by stream, as it was described last. A stream is left out until then."""
        known = {name: planner.facts.known_retention_hours() for name, planner in self._streams.items()}
        return {name: hours for name, hours in known.items() if hours is not None}

    def now_ms(self) -> int:
        """Return the service's clock, which may differ from our own: a lower bound, which is close after the first response."""
        return max(planner.api.now_ms() for planner in self._streams.values())

    def certain_from_ms(self) -> int:
        """Return the earliest time since which no record has expired in any stream, or would expire in a read from the oldest one."""
        hours = min(planner.facts.retention_hours() for planner in self._streams.values())
        margin_ms = max(MARGIN_MS, int(self._settings.trim_horizon_margin_s * 1000))
        return certain_from_ms(self.now_ms(), hours, margin_ms)

    def losses(self) -> dict[str, int]:
        """Return by stream how many losses were logged since this planner was made."""
        return {name: planner.reports.count for name, planner in self._streams.items()}

    def close(self) -> None:
        for planner in self._streams.values():
            if planner.bells:
                planner.bells.close()
        if self._lanes:
            self._lanes.close()

    def _by_stream(self, position: StartingPosition, setting: Setting) -> dict[str, OneStreamStart]:
        found = {name: position_in(name, self._streams, position, setting) for name in self._streams}
        return {name: _resumed(each) for name, each in found.items()}

    def _check_order(
        self, start: Offset, begins: Mapping[str, OneStreamStart], ends: Mapping[str, OneStreamStart]
    ) -> None:
        """Check that not all shards start after their end. One that does alone has no records, and the others are read."""
        errors = [
            late_error(planner, start.streams[name], begins[name], ends[name])
            for name, planner in self._streams.items()
        ]
        if (error := errors[0]) is not None and all(errors):
            raise error

    def _shares(self, drafts: Mapping[str, Draft], bounded: bool, is_whole: bool) -> Shares | None:
        """Divide the limits of a batch again: the shards, and what they need, change. None if it ends at the tips."""
        if not bounded:
            return NO_LIMITS if self._is_to_targets else None
        limits, batch_limits = self._settings.limits, self._settings.batch_limits
        needs = {} if batch_limits == Limits() else self._skew.needs(drafts)
        # A whole plan may be the only one, and the service's clock is not known before its first responses.
        until_ms = float("inf") if is_whole else self._skew.reach_ms(self.now_ms())
        return evolve(divide_limits(limits, batch_limits, needs), until_ms=until_ms)

    def _plan_round(
        self, drafts: Mapping[str, Draft], shares: Shares | None, *, is_whole: bool
    ) -> Offset | None:
        """Plan until a batch is found, or until each shard that is due was planned; then None is returned."""
        self._schedule.begin_round()
        while True:
            for name in self._schedule.begin_plan(is_whole=is_whole):
                planner, draft = self._streams[name], drafts[name]
                planner.refresh(draft.start, patiently=shares is None)
                with self._schedule.of_one_stream() as is_spent:
                    drafts = {**drafts, name: planner.plan(draft, shares, is_spent)}
            held = drafts if shares is None else self._skew.hold(drafts, self.now_ms())
            # Shards that were left out and would hold others come first: the round continues with them.
            planned = None if held is None else self._finish(held)
            self._schedule.end_plan()
            if planned is not None or not self.last_plan.shards_left:
                return planned

    def _finish(self, drafts: Mapping[str, Draft]) -> Offset | None:
        # A run to targets continues while one is left, in whatever stream.
        is_last = self._has_reached_targets(drafts)
        ends = {n: p.finish(drafts[n], keeps_times=is_last) for n, p in self._streams.items()}
        return Offset(ends) if any(end is not drafts[name].start for name, end in ends.items()) else None

    def _await_due(self, drafts: Mapping[str, Draft]) -> None:
        """Wait until a shard may be read again. The bell of a shard ends its rest."""
        if self._rang is None:
            self._clock.sleep(self._due_s(drafts))
            return
        while True:
            self._rang.clear()
            for planner in self._streams.values():
                planner.wake()
            due_s = self._due_s(drafts)
            if due_s <= 0 or not self._rang.wait(due_s):
                return

    def _due_s(self, drafts: Mapping[str, Draft]) -> float:
        each = (wait_s for n, planner in self._streams.items() for wait_s in planner.waits_s(drafts[n]))
        if not self._is_to_targets:
            return _least(each, self._settings.min_fetch_period_s)
        if self._has_reached_targets(drafts):
            return 0.0  # no shard is read again
        waits_s = list(each)
        first_s = _least(waits_s, self._settings.min_fetch_period_s)
        return max((wait_s for wait_s in waits_s if wait_s <= first_s + TOGETHER_S), default=first_s)

    @property
    def _is_to_targets(self) -> bool:
        return any(planner.targets is not None for planner in self._streams.values())

    def _has_reached_targets(self, drafts: Mapping[str, Draft]) -> bool:
        """Return whether no target is left where the batch starts."""
        return all(planner.has_reached_targets(drafts[n]) for n, planner in self._streams.items())

    def _warn_of_backlog(self, planned: Offset) -> None:
        """Log how many hours an unbounded batch reaches back in a stream, and over how many shards, if that is long."""
        for name, stream in planned.streams.items():
            estimates = [p.estimate for p in stream.shards.values() if p.first is not None]
            hours = max((e.age_ms or 0 for e in estimates if e is not None), default=0) / HOUR_MS
            if hours >= LONG_HOURS:
                log.warning(
                    "backlog.planned",
                    stream=name,
                    shards=len(estimates),
                    hours=round(hours, 1),
                    retention_hours=self._streams[name].facts.retention_hours(),
                )

    def _check(self, start: Offset) -> None:
        if set(start.streams) != set(self._streams):
            raise OffsetError(
                f"The saved offset is of the streams {sorted(start.streams)}, and those to read are {sorted(self._streams)}. "
                "Name the same streams in the same way (name or ARN).",
                advice=Advice.START_ANEW,
            )


def _resumed(position: OneStreamStart | KclApplication) -> OneStreamStart:
    if isinstance(position, KclApplication):
        raise TypeError("resume_from_applications replaces KCL applications before anything is planned")
    return position


def _least(waits_s: Iterable[float], default_s: float) -> float:
    """Return the shortest wait, and look no further than the first of 0: thousands of shards may be due."""
    least_s: float | None = None
    for wait_s in waits_s:
        if wait_s <= 0:
            return wait_s
        least_s = wait_s if least_s is None else min(least_s, wait_s)
    return default_s if least_s is None else least_s


def _unread(end: StreamOffset, ranges: Iterable[ShardRange], name: str) -> StreamOffset:
    """Return *end* with the shards of a batch where the batch starts: they must be listed if they still exist."""
    starts = {r.shard_id: ShardOffset(r.start) for r in ranges if r.stream == name}
    return evolve(end, shards={**end.shards, **starts})
