"""
BatchGate: holds a batch back until it is worth running.

At a trickle, every plan finds a record or two, and a query runs one small batch after the other. Each costs Spark the same,
whatever it holds. A gate lets a batch through when about as many records wait as the user wants, or when one has waited for
long enough. A batch that is held back is a plan that is thrown away. The next plan starts from the same offset, so the records
that are read never depend on the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.model import Estimate, Offset, ShardEnd
from kinesis_core.planning.limits import FULL_MS
from kinesis_core.planning.plan_ahead import BatchPlanner

PLAN_PERIOD_S = 1.0
"""Seconds between two plans while a batch is held back: more than between two reads of an idle shard without a gate."""


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
    def planning_s(self) -> float:
        return self.planner.planning_s

    @property
    def whole_planning_s(self) -> float:
        return self.planner.whole_planning_s

    @property
    def shards_left(self) -> int:
        return self.planner.shards_left

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
