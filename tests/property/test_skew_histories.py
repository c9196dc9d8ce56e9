"""Generated backlogs of shards at unlike rates: how late records come, whatever ends a shard before its tip."""

from __future__ import annotations

import random
from unittest.mock import patch

from hypothesis import given, settings, strategies as st

from kinesis_core.model import Latest, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from property.histories import assert_everything_once, everything
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood
from support.planned import Planned, Read
from support.slow_stream import CALL_S, SlowStream
from support.watermarks import lateness_ms

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 10]),
    end_page_of_its_own=st.booleans(),
    jitter_ms=st.sampled_from([0, 0, 50, 3000]),
)
rates = st.lists(st.sampled_from([0.01, 0.2, 1.0, 5.0]), min_size=1, max_size=4)
"""Records a second of each shard, one after the other; a later shard has the rate of an earlier one."""
spells = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from([10, 60, 200]), rates),
        st.tuples(st.just("silence"), st.sampled_from([30, 3000]), rates),
        st.tuples(st.just("split"), st.integers(0, 9), rates),
        st.tuples(st.just("merge"), st.integers(0, 9), rates),
        st.tuples(st.just("batches"), st.integers(1, 5), rates),
        st.tuples(st.just("restart"), st.just(0), rates),
    ),
    min_size=1,
    max_size=8,
)
Spell = tuple[str, int, list[float]]


def put(streams: list[FakeStream], seconds: int, rates: list[float]) -> None:
    clock = streams[0].clock
    shards = [(stream, shard_id) for stream in streams for shard_id in stream.open_shards()]
    for second in range(seconds):
        for i, (stream, shard_id) in enumerate(shards):
            rate = rates[i % len(rates)]
            for _ in range(int((second + 1) * rate) - int(second * rate)):
                stream.put(shard_id, b"x")
        clock.sleep(1)


def reshard(stream: FakeStream, kind: str, where: int) -> None:
    shards = stream.open_shards()
    if kind == "split" and len(shards) < 6:
        stream.split(shards[where % len(shards)])
    elif kind == "merge" and len(shards) > 1:
        stream.merge(shards[where % len(shards)], shards[(where + 1) % len(shards)])


def step(query: Planned, history: list[Spell]) -> list[Read]:
    """Let happen what a history says, and return the batches of it."""
    batches: list[Read] = []
    for kind, value, rates in history:
        match kind:
            case "put":
                put(query.streams, value, rates)
            case "silence":
                query.clock.sleep(value)
            case "split" | "merge":
                for stream in query.streams:
                    reshard(stream, kind, value)
            case "restart":
                query.restart()
            case _:
                for _ in range(value):
                    query.clock.sleep(1)
                    batches.append(query.batch())
    return batches


def drain(query: Planned) -> list[Read]:
    """Run batches until all there is was read, and a while longer. A shard that is refused holds all others until then."""
    batches: list[Read] = []
    left, quiet_since = set().union(*map(everything, query.streams)), query.clock.now
    while query.clock.now - quiet_since < (2000 if left else 20):
        query.clock.sleep(1)
        batches.append(query.batch())
        if batches[-1]:
            quiet_since = query.clock.now
            left -= {number for _, number in batches[-1]}
    return batches


def finish_run(query: Planned) -> list[Read]:
    """Return the batches of a run that ends by itself, and begin another one."""
    batches: list[Read] = []
    query.planner.fix_targets()
    while batch := query.batch():
        batches.append(batch)
    query.restart()
    return batches


def make_streams(shards: int, count: int, mood: Mood, seed: int) -> list[FakeStream]:
    clock, rng = FakeClock(), random.Random(seed)
    streams: list[FakeStream] = [
        SlowStream(clock, rng, mood, name=f"s{i}", number=10**56 * (i + 1)).create(shards)
        for i in range(count)
    ]
    for stream in streams:
        stream.created_ms = stream.now_ms()
    return streams


def make_settings(limit: int | None, skew_s: float, budget_s: float | None) -> PlanSettings:
    return PlanSettings(
        Limits(max_records=limit),
        shard_discovery_interval_s=0.0,
        trim_horizon_margin_s=0.0,
        plan_budget_s=budget_s,
        max_shard_skew_s=skew_s,
    )


def assert_all_once(streams: list[FakeStream], batches: list[Read]) -> None:
    for stream in streams:
        mine = everything(stream)
        assert_everything_once(stream, [[r for r in batch if r[1] in mine] for batch in batches], mine)


limits = st.sampled_from([5, 40, None])
skews = st.sampled_from([0.0, 2.0, 10.0])
budgets = st.sampled_from([None, 2.5 * CALL_S])


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 2),
    moods,
    spells,
    limits,
    skews,
    budgets,
    st.booleans(),
    st.integers(),
)
def test_no_record_comes_much_later_than_a_younger_one(
    shards: int,
    count: int,
    mood: Mood,
    history: list[Spell],
    limit: int | None,
    skew_s: float,
    budget_s: float | None,
    from_latest: bool,
    seed: int,
) -> None:
    """
    No record arrived earlier than one of an earlier batch by more than the limit of skew.

    Reshards are seen at once here, and a shard holds others for as long as it is refused. A time that is off counts four times: the end that holds and the
    record after it, the end that is held and a record before it.
    """
    streams = make_streams(shards, count, mood, seed)
    plan = make_settings(limit, skew_s, budget_s)
    query = Planned(streams, Latest() if from_latest else TrimHorizon(), plan)
    with patch("kinesis_core.planning.skew.HELD_S", float("inf")):
        batches = step(query, history) + drain(query)
    assert_all_once(streams, batches)
    assert lateness_ms(batches, streams) <= 1000 * skew_s + 4 * mood.jitter_ms


@settings(max_examples=examples(150), deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 2),
    moods,
    spells,
    spells,
    limits,
    skews,
    budgets,
    st.booleans(),
    st.integers(),
)
def test_no_record_of_a_run_that_ends_comes_much_later_than_a_younger_one(
    shards: int,
    count: int,
    mood: Mood,
    before: list[Spell],
    later: list[Spell],
    limit: int | None,
    skew_s: float,
    budget_s: float | None,
    from_latest: bool,
    seed: int,
) -> None:
    """The same holds for runs of AvailableNow, with reshards between them. Each ends, and reads what was there."""
    streams = make_streams(shards, count, mood, seed)
    plan = make_settings(limit, skew_s, budget_s)
    query = Planned(streams, Latest() if from_latest else TrimHorizon(), plan)
    batches: list[Read] = []
    with patch("kinesis_core.planning.skew.HELD_S", float("inf")):
        for history in (before, later):
            step(query, [spell for spell in history if spell[0] != "batches"])
            run = finish_run(query)
            assert lateness_ms(run, streams) <= 1000 * skew_s + 4 * mood.jitter_ms
            batches += run
    assert_all_once(streams, batches)
