"""When the next batch is planned ahead, and what becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from attrs import define, field

from kinesis_core.cuts import After
from kinesis_core.errors import AccessDeniedError
from kinesis_core.offsets import Offset, Position, StreamOffset
from kinesis_core.plan_ahead import LEAD, PlanAhead, daemon_timer
from support.fake_stream import FakeClock

BATCH_S = 5.0


def at(number: int) -> Offset:
    return Offset({"orders": StreamOffset(1, {"shardId-000000000000": Position(After(number))})})


@define
class HandTimer:
    """Fires when the test says so; its function has then run to its end."""

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
    """Takes a second for a plan; what is new is said by the test."""

    clock: FakeClock
    planning_s: float = 1.0
    tip: int = 0
    error: Exception | None = None
    plans: list[tuple[Offset, bool]] = field(factory=list)

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        self.plans.append((start, bounded))
        self.clock.sleep(self.planning_s)
        if self.error is not None:
            raise self.error
        return start if start == at(self.tip) else at(self.tip)

    def lag_ms(self) -> dict[str, dict[str, int]]:
        return {"orders": {"shardId-000000000000": self.tip}}


@define
class Driver:
    """Asks for one batch after the other, as Spark does, and takes its time with each."""

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
        """Ask for the next batch; return how many seconds that took."""
        begun_s = self.clock.now_s()
        self.start = self.plans.next_offset(self.start, bounded=bounded)
        return self.clock.now_s() - begun_s

    def settle(self) -> None:
        """Process two batches: from then on it is known how long one takes."""
        for tip in (10, 20):
            self.planner.tip = tip
            self.ask()
            self.process() if tip == 10 else None

    def process(self) -> None:
        """Process a batch; a plan that is due meanwhile is made."""
        due = self.timers[-1] if self.timers and not self.timers[-1].is_cancelled else None
        if due is None:
            self.clock.sleep(BATCH_S)
            return
        before_s = self.clock.now_s()
        self.clock.sleep(due.after_s)
        due.call()
        self.clock.sleep(BATCH_S - (self.clock.now_s() - before_s))


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_planning_that_takes_long_is_not_waited_for(driver: Driver) -> None:
    """When a batch has been processed its successor is planned already, shortly before."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    assert driver.ask() == 0
    assert driver.start == at(30)
    assert driver.timers[0].after_s == BATCH_S - LEAD * driver.planner.planning_s


def test_every_plan_begins_where_the_last_one_ended(driver: Driver) -> None:
    """Ahead or not, each plan starts at the end of the one that was handed out before it."""
    driver.settle()
    for tip in range(30, 100, 10):
        driver.planner.tip = tip
        driver.process()
        assert driver.ask() == 0
    assert driver.planner.plans[:4] == [(at(0), True), (at(10), True), (at(20), True), (at(30), True)]


@pytest.mark.parametrize("planning_s", [0.01, 0.2])
def test_quick_planning_is_done_when_it_is_asked_for(planning_s: float) -> None:
    """What takes a moment, or next to nothing beside the batch, is planned when asked for, with the latest records."""
    driver = Driver(SlowPlanner(FakeClock(), planning_s))
    driver.settle()
    assert not driver.timers


def test_a_first_batch_plans_nothing_ahead(driver: Driver) -> None:
    """A query that ends after one batch makes one plan."""
    driver.planner.tip = 10
    driver.ask()
    assert not driver.timers


def test_a_plan_that_has_become_old_is_made_again(driver: Driver) -> None:
    """After a batch that took unexpectedly long, records that came meanwhile are in the next one."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    driver.clock.sleep(60)
    driver.planner.tip = 40
    assert driver.ask() == driver.planner.planning_s
    assert driver.start == at(40)


def test_a_plan_that_found_nothing_is_made_again(driver: Driver) -> None:
    """Records that came after a plan without any are not left for later."""
    driver.settle()
    driver.process()
    driver.planner.tip = 30
    driver.ask()
    assert driver.start == at(30)


def test_an_idle_stream_is_not_planned_ahead(driver: Driver) -> None:
    """Behind the last batch there is nothing to overlap with."""
    driver.settle()
    driver.process()
    count = len(driver.timers)
    for _ in range(3):
        driver.ask()
    assert len(driver.timers) == count
    assert driver.start == at(20)


def test_a_plan_that_was_not_begun_is_not_waited_for(driver: Driver) -> None:
    """A batch that takes less time than expected is followed by a plan of its own."""
    driver.settle()
    driver.planner.tip = 30
    driver.clock.sleep(1)
    assert driver.ask() == driver.planner.planning_s
    assert driver.timers[0].is_cancelled
    assert driver.start == at(30)


def test_a_start_elsewhere_is_planned_from_there(driver: Driver) -> None:
    """What was planned ahead for another start, or for another limit, is not handed out."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    driver.start = at(15)
    driver.ask()
    assert driver.planner.plans[-1] == (at(15), True)


def test_another_limit_is_planned_anew(driver: Driver) -> None:
    """A batch without a bound is not the one that was planned ahead with it."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    driver.ask(bounded=False)
    assert driver.planner.plans[-1] == (at(20), False)


def test_an_error_of_a_plan_made_ahead_is_raised(driver: Driver) -> None:
    """An error while planning ahead comes up when the batch is asked for, and is not the last word."""
    driver.settle()
    driver.planner.tip, driver.planner.error = 30, AccessDeniedError("no", "AccessDeniedException")
    driver.process()
    driver.planner.error = None
    with pytest.raises(AccessDeniedError):
        driver.ask()
    driver.ask()
    assert driver.start == at(30)


def test_lag_is_that_of_the_batch_handed_out(driver: Driver) -> None:
    """How far behind a query is does not change while a plan is being made."""
    driver.settle()
    driver.planner.tip = 30
    lag_ms = driver.plans.lag_ms()
    driver.process()
    assert driver.plans.lag_ms() == lag_ms == {"orders": {"shardId-000000000000": 20}}
    driver.ask()
    assert driver.plans.lag_ms() == {"orders": {"shardId-000000000000": 30}}


def test_closing_cancels_what_was_not_begun(driver: Driver) -> None:
    """Nothing is planned once it is closed; closing it unused is nothing."""
    driver.plans.close()
    driver.settle()
    driver.plans.close()
    assert driver.timers[0].is_cancelled


def test_a_timer_is_a_thread_that_nobody_waits_for() -> None:
    """A timer calls once, in a daemon thread, and not at all when it was cancelled."""
    called: list[threading.Thread] = []
    timer = daemon_timer(0.0, lambda: called.append(threading.current_thread()))
    timer.start()
    timer.join()
    cancelled = daemon_timer(60.0, called.clear)
    cancelled.start()
    cancelled.cancel()
    cancelled.join()
    assert [thread.daemon for thread in called] == [True]
