"""A budget of time: which shards a plan leaves for the next one."""

from __future__ import annotations

import logging
import math

import pytest
from attrs import evolve

from kinesis_core.model import Latest
from kinesis_core.planning import Limits, PlanAhead, PlanSettings
from support.planned import Planned
from support.slow_stream import CALL_S, slow_stream
from unit.kinesis_core.planning.budgeted import BUDGET_S, PER_PLAN, SETTINGS, SHARDS, followed, put_everywhere


def test_a_plan_begins_no_shard_after_its_budget() -> None:
    """The batch goes out with the shards that there was time for. The others keep their offset, and are counted."""
    stream, query = followed()
    put_everywhere(stream)
    start, started_s = query.start, stream.clock.now_s()
    read = query.batch()
    assert len(read) == PER_PLAN
    assert query.planner.last_plan.shards_left == SHARDS - PER_PLAN
    assert query.planner.last_plan.planning_s <= BUDGET_S + CALL_S
    assert query.planner.last_plan.whole_planning_s == pytest.approx(
        query.planner.last_plan.planning_s * SHARDS / PER_PLAN
    )
    assert query.start.streams["orders"].created_ms == start.streams["orders"].created_ms
    assert stream.clock.now_s() >= started_s
    for shard_id in set(stream.shards) - {shard_id for shard_id, _ in read}:
        assert (
            query.start.streams["orders"].started(shard_id).cut
            == start.streams["orders"].started(shard_id).cut
        )


def test_children_found_late_do_not_hide_what_was_left() -> None:
    """A plan whose time is over begins no children of an empty shard, and still counts all that it left before."""
    stream, query = followed()
    parent, *others = stream.shards
    stream.clock.sleep(1)
    stream.split(parent)
    for shard_id in others:
        stream.put(shard_id, b"x")
    assert len(query.batch()) == PER_PLAN - 1
    assert query.planner.last_plan.shards_left == SHARDS - PER_PLAN


def test_what_was_left_and_would_hold_the_rest_is_in_the_same_batch() -> None:
    """Shards far behind those that there was time for are planned next, and the batch has the records of all."""
    stream, query = followed(settings=evolve(SETTINGS, max_shard_skew_s=10.0))
    for _ in range(2):
        put_everywhere(stream)
        stream.clock.sleep(60)
    assert {shard_id for shard_id, _ in query.batch()} == set(stream.shards)
    assert query.planner.last_plan.shards_left == 0


def test_every_shard_has_its_turn() -> None:
    """Busy shards are each in one of so many batches in a row as all of them take, and again in the next ones."""
    stream, query = followed()
    needed = math.ceil(SHARDS / PER_PLAN)
    batches = []
    for _ in range(3 * needed):
        put_everywhere(stream)
        batches.append({shard_id for shard_id, _ in query.batch()})
    for i in range(len(batches) - needed + 1):
        assert set.union(*batches[i : i + needed]) == set(stream.shards)


def test_shards_that_are_furthest_behind_come_first() -> None:
    """A restarted query knows no lag. It begins with the shards whose position is the oldest."""
    stream = slow_stream(SHARDS)
    ids = list(stream.shards)
    for i in (7, 2, 5, 0, 1, 3, 4, 6, 8, 9):
        stream.put(ids[i], b"x")
        stream.clock.sleep(30)
    put_everywhere(stream)
    stream.clock.sleep(30)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits(max_records=1), plan_budget_s=None))
    assert len(query.batch()) == SHARDS
    query.settings = SETTINGS
    query.restart()
    assert {shard_id for shard_id, _ in query.batch()} == {ids[7], ids[2], ids[5]}


def test_a_plan_without_news_continues_with_the_shards_left_out() -> None:
    """Records in the shard that is planned last are found by one call, however many budgets that takes."""
    stream, query = followed()
    for shard_id in stream.shards:
        fresh = stream.put(shard_id, b"x") if shard_id == list(stream.shards)[-1] else None
    assert fresh is not None
    stream.clock.sleep(1)
    assert [number for _, number in query.batch()] == [fresh.sequence_number]
    assert query.planner.last_plan.planning_s > 3 * BUDGET_S


def test_an_idle_stream_is_idle_once_each_shard_was_planned() -> None:
    """Nothing is new once all shards said so, each by one call, as without a budget."""
    stream, query = followed()
    stream.clock.sleep(5)
    stream.by_shard.clear()
    start = query.start
    assert query.planner.next_offset(start) is start
    assert stream.by_shard == dict.fromkeys(stream.shards, 1)
    assert query.planner.last_plan.shards_left == 0


def test_the_lag_of_shards_left_out_grows() -> None:
    """A shard that was found idle and is then left out may have records: its lag is the time since."""
    stream, query = followed()
    assert set(query.planner.lag_ms()["orders"].values()) == {0}
    stream.clock.sleep(60)
    put_everywhere(stream)
    read = {shard_id for shard_id, _ in query.batch()}
    lags_ms = query.planner.lag_ms()["orders"]
    assert {shard_id for shard_id, ms in lags_ms.items() if ms == 0} == read
    assert all(ms > 60_000 for shard_id, ms in lags_ms.items() if shard_id not in read)


def test_shards_that_were_never_planned_have_no_lag() -> None:
    """Nothing is known of them, so nothing is claimed."""
    stream, query = followed()
    put_everywhere(stream)
    query.restart()
    read = {shard_id for shard_id, _ in query.batch()}
    assert len(read) == PER_PLAN
    assert set(query.planner.lag_ms()["orders"]) == read


def test_the_line_of_a_batch_says_how_many_shards_are_left(caplog: pytest.LogCaptureFixture) -> None:
    """The fact is there when a plan ran out of time, and else it is not."""
    caplog.set_level(logging.INFO)
    for shards, left in ((SHARDS, str(SHARDS - PER_PLAN)), (PER_PLAN, "")):
        stream, query = followed(shards)
        put_everywhere(stream)
        caplog.clear()
        PlanAhead(query.planner, query.clock).next_offset(query.start)
        [line] = [line for line in caplog.messages if line.startswith("batch.planned ")]
        assert line.partition(" left=")[2] == left


def test_at_least_one_shard_is_planned() -> None:
    """Also without any time: a query always moves on."""
    stream, query = followed(4, PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=0.0))
    put_everywhere(stream)
    assert [len(query.batch()) for _ in range(4)] == [1, 1, 1, 1]


def test_a_budget_runs_no_more_empty_batches() -> None:
    """The batches that keep the checkpoint of an idle stream fresh are as many as without a budget."""
    counts = []
    for budget_s in (None, BUDGET_S):
        stream = slow_stream(SHARDS)
        settings = PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=budget_s)
        query = Planned([stream], Latest(), settings)
        start, changed = query.start, 0
        for _ in range(30):
            end = query.planner.next_offset(start)
            if end is not start:
                changed += 1
                times = {shard.arrived_ms or 0 for shard in end.streams["orders"].shards.values()}
                assert min(times) >= stream.now_ms() - 60_000, "not all shards were planned"
            start = end
            stream.clock.sleep(3600)
        counts.append(changed)
    assert counts[0] == counts[1] > 0
