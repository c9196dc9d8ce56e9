"""The generated histories again, with budgets that leave shards out of most plans."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from kinesis_core.model import Latest, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from property.histories import History, Query, assert_all_read, limits, moods, play, steps
from support import bounded_runs
from support.examples import examples
from support.fake_stream import FakeClock, Mood
from support.planned import Planned, Read, everything as pairs
from support.slow_stream import CALL_S, SlowStream

budgets = st.sampled_from([0.0, 0.5 * CALL_S, 1.5 * CALL_S, 4 * CALL_S])


@pytest.mark.tests
@settings(max_examples=examples(600), deadline=None)
@given(st.integers(1, 6), moods, limits, budgets, steps, st.booleans(), st.booleans(), st.integers())
def test_every_record_is_read_exactly_once(
    shards: int,
    mood: Mood,
    bounds: Limits,
    budget_s: float,
    history: History,
    from_latest: bool,
    is_whole_first: bool,
    seed: int,
) -> None:
    """Whatever shards a plan has no time for, each record comes once and in order, and a child after its parents."""
    stream = SlowStream(FakeClock(), random.Random(seed), mood)
    stream.created_ms = stream.now_ms()
    stream.create(shards)
    plan = PlanSettings(bounds, first_plan_crosses_gaps=is_whole_first, plan_budget_s=budget_s)
    query = Query(stream, plan, Latest() if from_latest else TrimHorizon())
    play(stream, query, history)
    assert_all_read(query)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 6),
    bounded_runs.moods,
    st.sampled_from([1, 3, 20, None]),
    budgets,
    bounded_runs.steps,
    bounded_runs.steps,
    st.booleans(),
    st.booleans(),
    st.integers(),
)
def test_available_now_reads_what_was_there_and_ends(
    shards: int,
    mood: Mood,
    limit: int | None,
    budget_s: float,
    before: list[bounded_runs.Step],
    meanwhile: list[bounded_runs.Step],
    is_whole_first: bool,
    is_first_run: bool,
    seed: int,
) -> None:
    """A run ends exactly at its targets, however few shards each of its plans has time for."""
    stream = SlowStream(FakeClock(), random.Random(seed), mood)
    stream.created_ms = stream.now_ms()
    stream.create(shards)
    bounded_runs.play(stream, before)
    plan = PlanSettings(
        Limits(max_records=limit), first_plan_crosses_gaps=is_whole_first, plan_budget_s=budget_s
    )
    query = Planned([stream], settings=plan)
    if not is_first_run:
        start = query.start
        query.restart()
        query.start = start
    query.planner.fix_targets()
    there, waiting = pairs(stream), list(meanwhile)
    read: Read = []
    for _ in range(4000):
        batch = query.batch()
        bounded_runs.play(stream, waiting[:1])
        del waiting[:1]
        if not batch:
            break
        read += batch
    else:
        raise AssertionError("AvailableNow did not end")
    assert sorted(read) == sorted(there)
    bounded_runs.assert_in_order(stream, read)
    assert query.batch() == [], "it continued after its end"


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 8), budgets, st.sets(st.integers(0, 7)), st.integers(1, 3))
def test_nothing_new_is_only_said_of_all_shards(
    shards: int, budget_s: float, busy: set[int], per_shard: int
) -> None:
    """While a shard has records, no plan returns its start, also when those that it had the time for are idle."""
    stream = SlowStream(FakeClock())
    stream.create(shards)
    settings = PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=budget_s)
    query = Planned([stream], Latest(), settings)
    assert query.batch() == []  # the first plan is whole
    stream.clock.sleep(10)
    ids = list(stream.shards)
    for i in sorted(busy & set(range(shards))):
        for _ in range(per_shard):
            stream.put(ids[i], b"tea")
    stream.clock.sleep(10)
    read: Read = []
    while len(read) < len(pairs(stream)):
        batch = query.batch()
        assert batch
        read += batch
    assert sorted(read) == sorted(pairs(stream))
