"""
When a batch is planned and when it is returned: ahead of time where planning takes a while, later where a batch is small.

A query that plans a batch, processes it and then plans the next batch waits for every plan. With a thousand busy shards it waits
two seconds. But the end of a plan is a real record. It is exact whenever it was found, and the end of a batch is the start of the
next one. A plan made ahead has one cost: records that come after it wait for one batch more. So it is made just in time, and an
old one is made again. A budget bounds how long a query waits. So it ends no plan that is made ahead, until the query asks for it.

At a trickle, every plan finds a record or two, and a query runs one small batch after the other. Each costs Spark the same,
whatever it holds. A gate lets a batch through when about as many records wait as the user wants, or when one has waited for
long enough. A batch that is held back is a plan that is thrown away. The next plan starts from the same offset, so the records
that are read never depend on the gate.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError
from kinesis_core.model import Estimate, Offset, ShardEnd
from kinesis_core.planning.schedule import LastPlan
from kinesis_core.planning.settings import FULL_MS
from kinesis_core.threads import try_to_start
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

WORTH_S = 0.05
WORTH_SHARE = 0.05
"""Planning is noticeable when it takes longer than this, and than this share of the time until the next plan is needed."""
LEAD = 1.25
"""Planning starts this many times its last duration before the next plan is expected to be needed."""
STALE = 1.5
"""A plan that has waited for this many times its duration is old: it could end at later records by now."""
PLAN_PERIOD_S = 1.0
"""Seconds between two plans while a batch is held back: more than between two reads of an idle shard without a gate."""


class BatchPlanner(Protocol):
    """Plans batches, in one thread at a time."""

    @property
    def last_plan(self) -> LastPlan: ...

    def set_awaited(self, is_awaited: bool) -> None:
        """Set whether a query waits for the plans from now on. This includes a plan that is being made. Only then a budget counts."""
        ...

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        """Return the end of the next batch, *start* itself when nothing is new."""
        ...

    def lag_ms(self) -> Mapping[str, Mapping[str, int]]:
        """Return by stream and shard how far behind the tip the last plan was."""
        ...


class Timer(Protocol):
    """The part of `threading.Timer` that is used here."""

    def start(self) -> None: ...

    def cancel(self) -> None: ...

    def join(self) -> None: ...


MakeTimer = Callable[[float, Callable[[], None]], Timer]
"""Returns a timer that calls a function after a number of seconds, in a separate thread."""


def daemon_timer(after_s: float, call: Callable[[], None]) -> Timer:
    """Return a timer that does not keep the program from ending."""
    timer = threading.Timer(after_s, call)
    timer.name, timer.daemon = "kinesis-plan-ahead", True
    return timer


@define
class _AheadPlan:
    """A plan that is made ahead, and its result once it was started."""

    start: Offset
    bounded: bool
    timer: Timer | None = None
    end: Offset | None = None
    error: BaseException | None = None
    made_s: float = 0.0


@define
class PlanAhead:
    """
    Plans one batch after the other, and the next one ahead of time.

    A plan made ahead is the result of the same call. Until it is returned nobody has seen it, and when it is not returned the
    planner is called again.
    """

    planner: BatchPlanner
    clock: Clock
    make_timer: MakeTimer = daemon_timer
    _ahead: _AheadPlan | None = field(default=None, init=False)
    _lag_ms: Mapping[str, Mapping[str, int]] = field(factory=dict, init=False)
    _returned_s: float = field(default=0.0, init=False)
    _batch: tuple[Offset, Offset] | None = field(default=None, init=False)
    """Start and end of the batch that was returned last."""

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        """
        Return the end of the next batch, *start* itself when nothing is new.

        Raises:
            KinesisError: Planning failed now, or failed ahead for a reason that is not temporary.
        """
        away_s = self._away_s(start)
        self.planner.set_awaited(True)
        end = self._planned_ahead(start, bounded) or self.planner.next_offset(start, bounded=bounded)
        self._lag_ms = self.planner.lag_ms()
        log_planned(start, end, self.planner)
        self._batch, self._returned_s = (start, end), self.clock.now_s()
        if away_s is not None and end is not start and self._is_worth_it(away_s):
            self._plan_ahead(end, bounded, away_s - LEAD * self.planner.last_plan.whole_planning_s)
        return end

    def lag_ms(self) -> Mapping[str, Mapping[str, int]]:
        """Return by stream and shard how far behind the tip it was when the last batch was planned."""
        return self._lag_ms

    def close(self) -> None:
        """Start no more plans; one that is being made ends by itself, soon after the planner is closed."""
        if self._ahead is not None and self._ahead.timer is not None:
            self._ahead.timer.cancel()

    def _away_s(self, start: Offset) -> float | None:
        """Return how long the last batch was processed, if *start* is its end."""
        if self._batch is None or self._batch[0] == self._batch[1] or self._batch[1] != start:
            return None
        return self.clock.now_s() - self._returned_s

    def _is_worth_it(self, away_s: float) -> bool:
        return self.planner.last_plan.planning_s > max(WORTH_S, WORTH_SHARE * away_s)

    def _plan_ahead(self, start: Offset, bounded: bool, after_s: float) -> None:
        plan = _AheadPlan(start, bounded)
        plan.timer = self.make_timer(max(0.0, after_s), lambda: self._make(plan))
        self.planner.set_awaited(False)
        if try_to_start(plan.timer.start):
            self._ahead = plan

    def _make(self, plan: _AheadPlan) -> None:
        try:
            plan.end = self.planner.next_offset(plan.start, bounded=plan.bounded)
        except ServiceError as error:
            # The service may be back when the batch is needed. If it is not, the plan made then raises.
            log.info("plan.failed", reason=error.code)
        except BaseException as error:  # noqa: BLE001 # the next call of next_offset raises it, whatever it is
            plan.error = error
        plan.made_s = self.clock.now_s()

    def _planned_ahead(self, start: Offset, bounded: bool) -> Offset | None:
        """Return the plan made ahead for these arguments, and wait for it if it was started; None if it cannot be used."""
        plan, self._ahead = self._ahead, None
        if plan is None or plan.timer is None:
            return None
        plan.timer.cancel()
        plan.timer.join()
        if (plan.start, plan.bounded) != (start, bounded):
            return None
        if plan.error is not None:
            raise plan.error
        is_old = not self.clock.now_s() - plan.made_s <= STALE * self.planner.last_plan.planning_s
        # A plan that found no records is not used: records may have arrived since.
        return None if is_old or plan.end is plan.start else plan.end


@define
class BatchGate:
    """
    Plans batches as its planner does. While a batch has to wait, it returns the start, as when nothing is new.

    These batches pass at once: the first of a run, one that finishes a shard, one that a limit ends before the tip, and one without
    records. Errors also pass at once.
    """

    planner: BatchPlanner
    min_records: int
    """About how many records are enough, over all shards and streams."""
    max_delay_s: float
    """The longest time between two batches, and the longest time that a record waits here, by its arrival time."""
    clock: Clock
    """It need not show the time of day, and must not be set back."""
    _is_open: bool = field(default=False, init=False)
    _passed_s: float = field(default=float("-inf"), init=False)
    """When the last batch was let through."""
    _plan_s: float = field(default=float("-inf"), init=False)
    """When to plan again a batch that is held back."""

    @property
    def last_plan(self) -> LastPlan:
        return self.planner.last_plan

    def set_awaited(self, is_awaited: bool) -> None:
        self.planner.set_awaited(is_awaited)

    def lag_ms(self) -> Mapping[str, Mapping[str, int]]:
        return self.planner.lag_ms()

    def open(self) -> None:
        """Hold nothing back from now on: the run ends when it has read the records that are there."""
        self._is_open = True

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        """Return the end of the next batch; *start* itself when nothing is new, or when it has to wait."""
        self.clock.sleep(self._plan_s - self.clock.now_s())
        end = self.planner.next_offset(start, bounded=bounded)
        if end is start:
            return start
        now_s = self.clock.now_s()
        left_s = 0.0 if self._is_open else self._left_s(start, end, now_s)
        if left_s > 0:
            self._plan_s = now_s + min(PLAN_PERIOD_S, left_s)
            return start
        self._passed_s = now_s
        return end

    def _left_s(self, start: Offset, end: Offset, now_s: float) -> float:
        """Return how long a batch has to wait; 0 or less when it passes."""
        waited_s, records = now_s - self._passed_s, 0
        for estimate, lag_ms in self._parts(start, end):
            if estimate is None or estimate.age_ms is None or lag_ms >= FULL_MS:
                return 0.0
            waited_s = max(waited_s, estimate.age_ms / 1000)
            records += estimate.records
        if not 0 < records < self.min_records or _finishes_shard(start, end):
            return 0.0
        return self.max_delay_s - waited_s

    def _parts(self, start: Offset, end: Offset) -> Iterator[tuple[Estimate | None, int]]:
        """Yield what a batch takes from each shard that it reads, and how far before the tip it ends there."""
        lag_ms = self.planner.lag_ms()
        for name, stream in end.streams.items():
            if stream is start.streams.get(name):
                continue  # nothing is new there, and its estimates are of an earlier batch
            for shard_id, shard_offset in stream.shards.items():
                if shard_offset.first is not None:
                    yield shard_offset.estimate, lag_ms.get(name, {}).get(shard_id, 0)


def _finishes_shard(start: Offset, end: Offset) -> bool:
    return any(
        shard_offset.cut == ShardEnd() and start.streams[name].started(shard_id).cut != ShardEnd()
        for name, stream in end.streams.items()
        for shard_id, shard_offset in stream.shards.items()
    )


def log_planned(start: Offset, end: Offset, planner: BatchPlanner) -> None:
    """
    Log a batch from *start* to *end*, the last one of *planner*. Nothing is logged when nothing is new.

    The code that returns a batch to its user calls this. A planner does not: a gate may hold its plan back, and a newer plan
    may replace it.
    """
    if end is start or not log.is_enabled_for(logging.INFO):
        return
    changed = {name: stream for name, stream in end.streams.items() if stream is not start.streams.get(name)}
    if changed:
        left, lags_ms = planner.last_plan.shards_left, planner.lag_ms().values()
        log.info(
            "batch.planned",
            stream=",".join(changed),
            shards=sum(p.first is not None for stream in changed.values() for p in stream.shards.values()),
            duration_s=round(planner.last_plan.planning_s, 3),
            lag_ms=max((ms for shards in lags_ms for ms in shards.values()), default=0),
            **({"left": left} if left else {}),
        )
