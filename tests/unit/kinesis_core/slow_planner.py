"""A planner that takes a second per plan, and a driver that requests one batch after the other."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from kinesis_core.model import After, Offset, ShardOffset, StreamOffset
from kinesis_core.planning import PlanAhead
from kinesis_core.planning.schedule import LastPlan
from support.fake_stream import FakeClock

BATCH_S = 5.0


def at(number: int) -> Offset:
    return Offset({"orders": StreamOffset(1, {"shardId-000000000000": ShardOffset(After(number))})})


@define
class HandTimer:
    """A timer that fires when the test says so. Its function runs to its end first."""

    after_s: float
    call: Callable[[], None]
    is_cancelled: bool = False

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        self.is_cancelled = True

    def join(self) -> None:
        pass


@define
class SlowPlanner:
    """Takes a second per plan. The test sets what is new."""

    clock: FakeClock
    last_plan: LastPlan = field(factory=lambda: LastPlan(1.0, 1))
    tip: int = 0
    error: Exception | None = None
    plans: list[tuple[Offset, bool]] = field(factory=list)
    awaited: list[bool] = field(factory=list)
    """For each plan, whether somebody waited for it when it was made."""
    _is_awaited: bool = True

    def set_awaited(self, is_awaited: bool) -> None:
        self._is_awaited = is_awaited

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        self.plans.append((start, bounded))
        self.awaited.append(self._is_awaited)
        self.clock.sleep(self.last_plan.planning_s)
        if self.error is not None:
            raise self.error
        return start if start == at(self.tip) else at(self.tip)

    def lag_ms(self) -> dict[str, dict[str, int]]:
        return {"orders": {"shardId-000000000000": self.tip}}


@define
class Driver:
    """Requests one batch after the other, as Spark does, and takes time to process each."""

    planner: SlowPlanner = field(factory=lambda: SlowPlanner(FakeClock()))
    timers: list[HandTimer] = field(factory=list)
    start: Offset = field(factory=lambda: at(0))
    plans: PlanAhead = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.plans = PlanAhead(self.planner, self.planner.clock, self._make_timer)

    def _make_timer(self, after_s: float, call: Callable[[], None]) -> HandTimer:
        self.timers.append(HandTimer(after_s, call))
        return self.timers[-1]

    @property
    def clock(self) -> FakeClock:
        return self.planner.clock

    def ask(self, *, bounded: bool = True) -> float:
        """Request the next batch. Return the seconds that this took."""
        started_s = self.clock.now_s()
        self.start = self.plans.next_offset(self.start, bounded=bounded)
        return self.clock.now_s() - started_s

    def settle(self) -> None:
        """Process two batches. From then on the duration of a batch is known."""
        for tip in (10, 20):
            self.planner.tip = tip
            self.ask()
            self.process() if tip == 10 else None

    def process(self) -> None:
        """Process a batch. A plan that is due meanwhile is made."""
        due = self.timers[-1] if self.timers and not self.timers[-1].is_cancelled else None
        if due is None:
            self.clock.sleep(BATCH_S)
            return
        before_s = self.clock.now_s()
        self.clock.sleep(due.after_s)
        due.call()
        self.clock.sleep(BATCH_S - (self.clock.now_s() - before_s))
