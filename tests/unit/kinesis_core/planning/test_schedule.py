"""The parts of a budget: what each stream has of it, whose turn it is, and how many shards are planned at the same time."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from kinesis_core.model import After, AtTimestamp, Latest, ShardEnd, ShardOffset, TrimHorizon
from kinesis_core.planning import PlanSettings
from kinesis_core.planning.schedule import Lanes, Schedule, Turn, Turns, age_ms, in_turn
from support.fake_stream import FakeClock
from support.planned import Planned
from support.slow_stream import CALL_S, slow_stream
from support.waiting import PATIENCE_S
from unit.kinesis_core.planning.budgeted import put_everywhere


def test_streams_share_the_budget() -> None:
    """A large stream leaves time to the one after it, and what a small one does not need goes to the next."""
    clock = FakeClock()
    large, small = slow_stream(40, "large", clock), slow_stream(2, "small", clock)
    query = Planned(
        [large, small], Latest(), PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=20 * CALL_S)
    )
    query.batch()
    put_everywhere(large)
    put_everywhere(small)
    read = {shard_id for shard_id, _ in query.batch()}
    assert query.planner.last_plan.planning_s <= 21 * CALL_S
    offsets = query.start.streams["small"]
    assert {s: isinstance(offsets.started(s).cut, After) for s in small.shards} == dict.fromkeys(
        small.shards, True
    )
    assert len(read) >= 10


def test_each_stream_comes_first_in_its_turn() -> None:
    """While nobody waits, the first stream has all the time until somebody does. So it is another one after each plan that was cut."""
    clock = FakeClock()
    schedule = Schedule({name: Turns() for name in "abc"}, clock, 2.0)
    orders: list[str] = []
    for is_cut in (True, True, False, True, True):
        schedule.begin_round()
        order = schedule.begin_plan(is_whole=False)
        for turns in schedule.turns.values():
            turns.begin_plan()
            turns.note(["x"], ["y"] if is_cut else [], clock.now_s())
        schedule.end_plan()
        orders.append("".join(order))
    assert orders == ["abc", "bca", "cab", "cab", "abc"]


def test_the_order_of_shards() -> None:
    """One that was left out comes before those planned meanwhile, however far behind they are. Of those, the furthest behind is first."""
    turns, behind_ms = {"near": 2, "far": 2, "left": 1}, {"near": 1, "far": 5, "left": 0}
    assert in_turn(turns, lambda s: Turn(turns[s], 0.0), behind_ms.__getitem__) == ["left", "far", "near"]


def test_the_parts_of_a_budget() -> None:
    """Each stream has an equal part of what is left, and a part that is not used goes to the ones after it."""
    clock = FakeClock()
    schedule = Schedule({name: Turns() for name in "abc"}, clock, 3.0)
    schedule.begin_plan(is_whole=False)
    with schedule.of_one_stream() as is_spent:
        clock.sleep(0.5)
        assert is_spent is not None
        assert not is_spent()
    clock.sleep(100)  # a listing between two streams does not count
    with schedule.of_one_stream() as is_spent:
        clock.sleep(1.2)
        assert is_spent is not None
        assert not is_spent()
        clock.sleep(0.1)
        assert is_spent()
    with schedule.of_one_stream() as is_spent:
        clock.sleep(1.1)
        assert is_spent is not None
        assert not is_spent()
        clock.sleep(0.2)
        assert is_spent()


def test_a_whole_plan_has_no_budget() -> None:
    """Nor has any plan where the user sets none."""
    for budget_s, is_whole in ((2.0, True), (None, False)):
        schedule = Schedule({"a": Turns()}, FakeClock(), budget_s)
        schedule.begin_plan(is_whole=is_whole)
        with schedule.of_one_stream() as is_spent:
            assert is_spent is None


def test_a_budget_counts_when_somebody_waits() -> None:
    """A plan that is made ahead is not ended, until the query asks for it: then the time that it took counts."""
    clock = FakeClock()
    schedule = Schedule({"a": Turns()}, clock, 2.0, is_awaited=False)
    schedule.begin_plan(is_whole=False)
    with schedule.of_one_stream() as is_spent:
        clock.sleep(5)
        assert is_spent is not None
        assert not is_spent()
        schedule.is_awaited = True
        assert is_spent()


@pytest.mark.parametrize(
    ("started", "old_ms"),
    [
        (ShardOffset(After(1), 400), 600),
        (ShardOffset(AtTimestamp(300)), 700),
        (ShardOffset(TrimHorizon()), math.inf),
        (ShardOffset(After(1)), 0),
        (ShardOffset(ShardEnd()), 0),
    ],
)
def test_how_far_behind_an_offset_is(started: ShardOffset, old_ms: float) -> None:
    """The time of a position shows it. The oldest record may be of any age."""
    assert age_ms(started, 1000) == old_ms


def test_a_turn_is_over_in_its_round_only() -> None:
    """A shard is planned once in a round, however many plans that takes, and again in the next one."""
    turns = Turns()
    assert not turns.is_over("a")
    turns.begin_round()
    assert not turns.is_over("a")
    turns.begin_plan()
    turns.note(["a"], ["b"], 5.0)
    assert turns.is_over("a")
    assert not turns.is_over("b")
    turns.begin_plan()
    turns.note(["b"], [], 8.0)
    assert (turns.planned, turns.left) == (2, frozenset())
    turns.begin_round()
    assert not turns.is_over("a")
    turns.begin_plan()
    turns.note(["b"], ["a"], 9.0)
    assert (turns.unread_ms("a"), turns.unread_ms("b")) == (4000, 0)


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    lanes = Lanes(3)
    yield lanes
    lanes.close()


def test_results_are_in_the_order_of_the_shards(lanes: Lanes) -> None:
    """Each shard is planned once, and its result is where the shard is."""
    ids = [f"shard-{i}" for i in range(50)]
    planned: list[str] = []

    def plan(shard_id: str) -> str:
        planned.append(shard_id)
        return shard_id.upper()

    assert lanes.run_all(plan, iter(ids)) == [shard_id.upper() for shard_id in ids]
    assert sorted(planned) == sorted(ids)
    assert lanes.run_all(plan, []) == []


def test_shards_are_begun_in_their_order() -> None:
    """The first shard is begun first, and each of the others after the one in front of it."""
    begun: list[str] = []
    lanes = Lanes(1)
    ids = [f"shard-{i}" for i in (5, 3, 8, 1)]
    lanes.run_all(begun.append, ids)
    lanes.close()
    assert begun == ids


def test_shards_are_planned_at_the_same_time(lanes: Lanes) -> None:
    """As many as there are threads: each waits here for the others."""
    together = threading.Barrier(3)
    lanes.run_all(lambda _: together.wait(PATIENCE_S), ["a", "b", "c"])


def test_a_failure_cancels_the_rest(lanes: Lanes) -> None:
    """The error is that of the first shard that failed, and no shard is begun after it."""
    begun: list[str] = []
    together = threading.Barrier(3)

    def plan(shard_id: str) -> None:
        begun.append(shard_id)
        together.wait(PATIENCE_S)
        raise ValueError(shard_id)

    with pytest.raises(ValueError, match="shard-0"):
        lanes.run_all(plan, [f"shard-{i}" for i in range(30)])
    assert len(begun) == 3


def test_closed_lanes_begin_no_more_shards(lanes: Lanes) -> None:
    """A plan that is being made when its query stops ends soon, with an error that says that it was cancelled."""
    begun: list[str] = []

    def plan(shard_id: str) -> None:
        begun.append(shard_id)
        lanes.close()

    with pytest.raises(CancelledError):
        lanes.run_all(plan, [f"shard-{i}" for i in range(30)])
    assert len(begun) <= 3
