"""A budget of time: which plans have all shards all the same."""

from __future__ import annotations

import pytest

from kinesis_core.model import Latest, Offset, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned, everything
from support.slow_stream import slow_stream
from unit.kinesis_core.planning.budgeted import BUDGET_S, PER_PLAN, SETTINGS, SHARDS, followed, put_everywhere


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
    assert query.planner.last_plan.shards_left == 0


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
