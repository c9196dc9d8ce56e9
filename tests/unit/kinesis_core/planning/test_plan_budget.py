"""A budget of time: which shards a plan leaves for the next one, and which plans are whole."""

from __future__ import annotations

import logging
import math

import pytest

from kinesis_core.model import (
    After,
    AtTimestamp,
    Latest,
    Offset,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning import Limits, PlanAhead, PlanSettings
from kinesis_core.planning.plan_budget import PlanBudget
from kinesis_core.planning.rounds import Rounds
from kinesis_core.planning.turns import Turns, age_ms
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned, everything
from support.slow_stream import CALL_S, SlowStream, slow_stream

SHARDS = 10
BUDGET_S = 2.5 * CALL_S
PER_PLAN = 3
"""Shards that a plan has time for: one call each."""
SETTINGS = PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=BUDGET_S)


def put_everywhere(stream: FakeStream, data: bytes = b"x") -> None:
    for shard_id in stream.open_shards():
        stream.put(shard_id, data)


def followed(shards: int = SHARDS, settings: PlanSettings = SETTINGS) -> tuple[SlowStream, Planned]:
    """Return a stream, and a query that has planned it once and found nothing. All shards are due again."""
    stream = slow_stream(shards)
    query = Planned([stream], Latest(), settings)
    assert query.batch() == []
    stream.clock.sleep(1)
    return stream, query


# What is left out


def test_a_plan_begins_no_shard_after_its_budget() -> None:
    """The batch goes out with the shards that there was time for. The others keep their offset, and are counted."""
    stream, query = followed()
    put_everywhere(stream)
    start, started_s = query.start, stream.clock.now_s()
    read = query.batch()
    assert len(read) == PER_PLAN
    assert query.planner.shards_left == SHARDS - PER_PLAN
    assert query.planner.planning_s <= BUDGET_S + CALL_S
    assert query.planner.whole_planning_s == pytest.approx(query.planner.planning_s * SHARDS / PER_PLAN)
    assert query.start.streams["orders"].created_ms == start.streams["orders"].created_ms
    assert stream.clock.now_s() >= started_s
    for shard_id in set(stream.shards) - {shard_id for shard_id, _ in read}:
        assert (
            query.start.streams["orders"].started(shard_id).cut
            == start.streams["orders"].started(shard_id).cut
        )


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
    query = Planned([stream], settings=PlanSettings(Limits(max_records=1), plan_budget_s=None))
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
    assert query.planner.planning_s > 3 * BUDGET_S


def test_an_idle_stream_is_idle_once_each_shard_was_planned() -> None:
    """Nothing is new once all shards said so, each by one call, as without a budget."""
    stream, query = followed()
    stream.clock.sleep(5)
    stream.by_shard.clear()
    start = query.start
    assert query.planner.next_offset(start) is start
    assert stream.by_shard == dict.fromkeys(stream.shards, 1)
    assert query.planner.shards_left == 0


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


# Several streams


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
    assert query.planner.planning_s <= 21 * CALL_S
    offsets = query.start.streams["small"]
    assert {s: isinstance(offsets.started(s).cut, After) for s in small.shards} == dict.fromkeys(
        small.shards, True
    )
    assert len(read) >= 10


def test_each_stream_comes_first_in_its_turn() -> None:
    """While nobody waits, the first stream has all the time until somebody does. So it is another one after each plan that was cut."""
    clock = FakeClock()
    rounds = Rounds({name: Turns() for name in "abc"}, PlanBudget(clock, 2.0), clock)
    start = Offset({name: StreamOffset(1, {}) for name in "abc"})
    orders: list[str] = []
    for is_cut in (True, True, False, True, True):
        order: list[str] = []

        def plan(
            name: str, _: PlanBudget | None, order: list[str] = order, is_cut: bool = is_cut
        ) -> StreamOffset:
            order.append(name)
            rounds.turns[name].begin_plan()
            rounds.turns[name].note(["x"], ["y"] if is_cut else [], clock.now_s())
            return StreamOffset(2, {})

        assert list(rounds.plan(start, plan, is_whole=False).streams) == ["a", "b", "c"]
        orders.append("".join(order))
    assert orders == ["abc", "bca", "cab", "cab", "abc"]


# Whole plans


@pytest.mark.parametrize("bounded", [True, False])
def test_a_plan_that_may_be_the_only_one_is_whole(bounded: bool) -> None:
    """The first plan of a run that may have one plan only has every shard. Later ones have a budget."""
    stream, query = followed(settings=PlanSettings(plan_budget_s=BUDGET_S))
    put_everywhere(stream)
    query.restart()
    assert sorted(query.batch(bounded=bounded)) == sorted(everything(stream))
    put_everywhere(stream)
    stream.clock.sleep(1)
    assert len(query.batch()) == PER_PLAN


def test_the_first_plan_of_a_query_is_whole() -> None:
    """Where reading starts, records may be about to leave the stream. They are in the first batch."""
    stream = slow_stream(SHARDS)
    put_everywhere(stream)
    query = Planned([stream], TrimHorizon(), SETTINGS)
    assert sorted(query.batch()) == sorted(everything(stream))
    put_everywhere(stream)
    stream.clock.sleep(1)
    assert len(query.batch()) == PER_PLAN


def test_a_batch_without_a_limit_is_whole() -> None:
    """It reaches the tip of every shard, which no plan with a budget does."""
    stream, query = followed()
    put_everywhere(stream)
    assert sorted(query.batch(bounded=False)) == sorted(everything(stream))
    assert query.planner.shards_left == 0


def test_the_end_of_a_read_is_whole() -> None:
    """A batch read ends where its user says, in every shard."""
    stream = slow_stream(SHARDS)
    put_everywhere(stream)
    query = Planned([stream], TrimHorizon(), SETTINGS)
    end = query.planner.end_offset(query.start, Latest())
    assert sorted(query.read(query.start, end)) == sorted(everything(stream))


def test_the_start_is_whole() -> None:
    """LATEST is the tip of every shard: records from before never come."""
    stream = slow_stream(SHARDS)
    put_everywhere(stream)
    stream.clock.sleep(60)
    query = Planned([stream], Latest(), SETTINGS)
    assert query.batch() == []


def test_targets_are_whole() -> None:
    """A run that reads what is there now fixes the end of every shard, and then gets there with a budget."""
    stream, query = followed()
    put_everywhere(stream)
    there = everything(stream)
    query.planner.fix_targets()
    batches = []
    while batch := query.batch():
        batches.append(batch)
        put_everywhere(stream)
    assert sorted(pair for batch in batches for pair in batch) == sorted(there)
    assert max(len(batch) for batch in batches) == PER_PLAN


def test_without_a_budget_every_plan_is_whole() -> None:
    """None means that a plan takes as long as it takes."""
    stream, query = followed(settings=PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=None))
    put_everywhere(stream)
    assert sorted(query.batch()) == sorted(everything(stream))


@pytest.mark.parametrize("threads", [1, 8])
def test_time_to_spare_changes_nothing(threads: int) -> None:
    """A plan that has the time for all its shards makes the same calls and has the same end as one without a budget."""
    ends: list[tuple[Offset, dict[str, int]]] = []
    for budget_s in (None, 2.0):
        stream = FakeStream(FakeClock()).create(5)
        settings = PlanSettings(Limits(max_records=5), first_plan_crosses_gaps=False, plan_budget_s=budget_s)
        query = Planned([stream], Latest(), settings, threads)
        for i in range(8):
            for shard_id in list(stream.shards)[: i % 5]:
                for _ in range(i):
                    stream.put(shard_id, b"x")
            stream.clock.sleep(1)
            query.batch()
        query.planner.close()
        ends.append((query.start, stream.calls))
    assert ends[0] == ends[1]


# The parts


def test_the_parts_of_a_budget() -> None:
    """Each stream has an equal part of what is left, and a part that is not used goes to the ones after it."""
    clock = FakeClock()
    budget = PlanBudget(clock, 3.0)
    budget.begin(3)
    with budget.of_one_stream():
        clock.sleep(0.5)
        assert not budget.is_spent()
    clock.sleep(100)  # a listing between two streams does not count
    with budget.of_one_stream():
        clock.sleep(1.2)
        assert not budget.is_spent()
        clock.sleep(0.1)
        assert budget.is_spent()
    with budget.of_one_stream():
        clock.sleep(1.1)
        assert not budget.is_spent()
        clock.sleep(0.2)
        assert budget.is_spent()


def test_a_budget_counts_when_somebody_waits() -> None:
    """A plan that is made ahead is not ended, until the query asks for it: then the time that it took counts."""
    clock = FakeClock()
    budget = PlanBudget(clock, 2.0, is_awaited=False)
    budget.begin(1)
    with budget.of_one_stream():
        clock.sleep(5)
        assert not budget.is_spent()
        budget.is_awaited = True
        assert budget.is_spent()


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
