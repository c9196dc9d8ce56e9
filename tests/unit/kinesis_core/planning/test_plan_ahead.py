"""When the next batch is planned ahead, and what becomes of it."""

from __future__ import annotations

import threading

import pytest

from kinesis_core.errors import AccessDeniedError, DataLossError, ServiceError, UnavailableError
from kinesis_core.planning.pacing import LEAD, daemon_timer
from kinesis_core.planning.schedule import LastPlan
from support.fake_stream import FakeClock
from unit.kinesis_core.slow_planner import BATCH_S, Driver, SlowPlanner, at


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
    assert driver.timers[0].after_s == BATCH_S - LEAD * driver.planner.last_plan.planning_s


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
    driver = Driver(SlowPlanner(FakeClock(), LastPlan(planning_s)))
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
    assert driver.ask() == driver.planner.last_plan.planning_s
    assert driver.start == at(40)


def test_a_plan_that_found_nothing_is_made_again(driver: Driver) -> None:
    """Records that came after a plan without any are not left for later."""
    driver.settle()
    driver.process()
    driver.planner.tip = 30
    driver.ask()
    assert driver.start == at(30)


def test_an_idle_stream_is_not_planned_ahead(driver: Driver) -> None:
    """After the last batch there is nothing to overlap with."""
    driver.settle()
    driver.process()
    count = len(driver.timers)
    for _ in range(3):
        driver.ask()
    assert len(driver.timers) == count
    assert driver.start == at(20)


def test_a_plan_that_was_not_started_is_not_waited_for(driver: Driver) -> None:
    """A batch that takes less time than expected is followed by a plan of its own."""
    driver.settle()
    driver.planner.tip = 30
    driver.clock.sleep(1)
    assert driver.ask() == driver.planner.last_plan.planning_s
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


def test_another_limit_is_planned_again(driver: Driver) -> None:
    """A batch without a bound is not the one that was planned ahead with it."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    driver.ask(bounded=False)
    assert driver.planner.plans[-1] == (at(20), False)


OUTAGE = UnavailableError("no response", "EndpointConnectionError")
REFUSAL = AccessDeniedError("no", "AccessDeniedException")


@pytest.mark.parametrize("error", [OUTAGE, REFUSAL])
@pytest.mark.parametrize("waited_s", [0, 3600])
def test_a_plan_that_failed_in_an_outage_is_made_again(
    waited_s: float, error: ServiceError, driver: Driver
) -> None:
    """What the service said while a batch was processed does not count when it says otherwise by the batch's end."""
    driver.settle()
    driver.planner.tip, driver.planner.error = 30, error
    driver.process()
    driver.planner.error = None
    driver.clock.sleep(waited_s)
    driver.ask()
    assert driver.start == at(30)


@pytest.mark.parametrize("error", [OUTAGE, REFUSAL])
def test_an_outage_that_lasts_is_raised(error: ServiceError, driver: Driver) -> None:
    """An error that came while planning ahead, and comes again when the batch is asked for, is raised."""
    driver.settle()
    driver.planner.tip, driver.planner.error = 30, error
    driver.process()
    with pytest.raises(type(error)):
        driver.ask()


def test_lost_data_is_lost_however_late_it_is_reported(driver: Driver) -> None:
    """An error that does not pass comes up when the batch is asked for, and is not the last word."""
    driver.settle()
    driver.planner.tip, driver.planner.error = 30, DataLossError("records are gone")
    driver.process()
    driver.planner.error = None
    with pytest.raises(DataLossError):
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


def test_closing_cancels_what_was_not_started(driver: Driver) -> None:
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


def test_nobody_waits_for_a_plan_that_is_made_ahead(driver: Driver) -> None:
    """So no budget ends it, unless the query asks for it before it is done."""
    driver.settle()
    driver.planner.tip = 30
    driver.process()
    assert driver.planner.awaited == [True, True, False]
    driver.clock.sleep(60)  # it becomes old, and the query waits for another one
    driver.ask()
    assert driver.planner.awaited == [True, True, False, True]


def test_a_plan_that_left_shards_out_is_made_earlier(driver: Driver) -> None:
    """The next one has to have the time for all shards, so it begins earlier by the share that was left out."""
    driver.planner.last_plan = LastPlan(1.0, 1, 1)
    driver.settle()
    assert driver.timers[0].after_s == BATCH_S - LEAD * 2 * driver.planner.last_plan.planning_s
