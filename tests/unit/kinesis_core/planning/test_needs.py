"""What a shard may need of a batch, by what its last plan saw."""

from __future__ import annotations

import random

import pytest

from kinesis_core.model import After, Record, ShardOffset, StreamOffset, TrimHorizon
from kinesis_core.planning import PlanSettings
from kinesis_core.planning.settings import FULL_MS
from kinesis_core.planning.shares import EVERYTHING, Need
from kinesis_core.planning.stream_planner import Draft, StreamPlanner
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = (f"shardId-{i:012d}" for i in range(2))


@pytest.fixture
def stream() -> ScriptedStream:
    return scripted_stream(2)


@pytest.fixture
def planner(stream: ScriptedStream) -> StreamPlanner:
    return StreamPlanner("orders", stream, PlanSettings(), stream.clock, random.Random(0))


def at(stream: ScriptedStream, of_first: ShardOffset | None = None) -> StreamOffset:
    """Return an offset with the other shard at its oldest record, or a new one."""
    shards = {} if of_first is None else {A: of_first, B: ShardOffset(TrimHorizon())}
    return StreamOffset(stream.created_ms, shards)


def after(record: Record, first: Record | None = None) -> ShardOffset:
    return ShardOffset(After(record.number), record.arrived_ms, None if first is None else first.number)


def test_shards_that_were_never_planned_may_need_everything(
    stream: ScriptedStream, planner: StreamPlanner
) -> None:
    """The shards are listed first. That one was looked at whether it is due says nothing either."""
    planner.states.of(A)
    record = stream.put(A, b"x")
    assert planner.needs(Draft(at(stream, after(record, record))))[A] == EVERYTHING
    assert planner.needs(Draft(at(stream))) == {A: EVERYTHING, B: EVERYTHING}


def test_a_look_ahead_says_nothing_of_where_it_began(stream: ScriptedStream, planner: StreamPlanner) -> None:
    """It found the tip, and a batch begins long before that: at the oldest record, or at one that is old."""
    first, *_ = stream.put_many(A, 3, every_s=60)
    planner.tip(Draft(at(stream)))
    assert planner.needs(Draft(at(stream)))[A] == EVERYTHING
    assert planner.needs(Draft(at(stream, after(first, first))))[A] == EVERYTHING


@pytest.mark.parametrize(("before_ms", "is_near"), [(FULL_MS - 1, True), (FULL_MS, False)])
def test_a_batch_that_ended_near_the_tip(
    stream: ScriptedStream, planner: StreamPlanner, before_ms: int, is_near: bool
) -> None:
    """Only what came since then is needed, at twice the rate of its records. The time is that of the last plan."""
    first, second = stream.put(A, b"x" * 100), stream.put(A, b"x" * 100)
    stream.clock.sleep(before_ms / 1000)
    planner.tip(Draft(at(stream)))
    stream.clock.sleep(60)
    need = planner.needs(Draft(at(stream, after(first, first))))[A]
    assert second.number > first.number
    assert (need != EVERYTHING) is is_near
    assert need == EVERYTHING or need.records == pytest.approx(2 * 0.002 * (60_000 + before_ms), rel=0.01)


def test_an_idle_shard_needs_what_came_since_its_last_batch(
    stream: ScriptedStream, planner: StreamPlanner
) -> None:
    """By its rate, if that batch had records of it. If not, the rate is of an earlier time, and nothing is expected."""
    first, last = stream.put(A, b"x" * 100), stream.put(A, b"x" * 100)
    planner.tip(Draft(at(stream)))
    stream.clock.sleep(10)
    need = planner.needs(Draft(at(stream, after(last, first))))[A]
    assert need.records == pytest.approx(2 * 0.002 * 10_000)
    assert need.size_bytes == pytest.approx(4000)
    assert planner.needs(Draft(at(stream, after(last))))[A] == Need(0.0, 0.0)
