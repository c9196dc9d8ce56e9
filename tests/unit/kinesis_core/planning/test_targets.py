"""Runs that end: what a look ahead finds of shards beyond unread ones does not pass for what was read."""

from __future__ import annotations

import random

import pytest

from kinesis_core.errors import DataLossError
from kinesis_core.model import ShardEnd, ShardOffset, StreamOffset
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.stream_planner import Draft, StreamPlanner, Targets
from support.bounded_runs import assert_in_order
from support.lineages import forget
from support.planned import Planned, Read, everything
from support.scripted_stream import ScriptedStream, scripted_stream, throttle

A, B, C, D, E = (f"shardId-{i:012d}" for i in range(5))
LIMITS = Limits(max_records=5)


def with_an_empty_shard_between() -> ScriptedStream:
    """Return a stream in which B, between A and its grandchildren D and E, has no record."""
    stream = scripted_stream(1)
    stream.put_many(A, 20, 0.01)
    assert stream.split(A) == [B, C]
    assert stream.split(B) == [D, E]
    stream.put_many(D, 3, 0.01)
    return stream


def run_to_the_end(query: Planned) -> Read:
    query.planner.fix_targets()
    read: Read = []
    while batch := query.batch():
        read += batch
    return read


def test_a_run_that_ends_reads_a_grandchild_after_its_grandparent() -> None:
    """A shard without a record between the two makes them no strangers."""
    stream = with_an_empty_shard_between()
    query = Planned([stream], settings=PlanSettings(LIMITS))
    read = run_to_the_end(query)
    assert sorted(read) == sorted(everything(stream))
    assert_in_order(stream, read)


def test_reshards_between_two_runs_lose_nothing() -> None:
    """Shards that the offset does not name are read, and no batch before that says that one of their descendants is finished."""
    stream = with_an_empty_shard_between()
    stream.put_many(C, 3)
    first, second = stream.split(D)
    query = Planned([stream], settings=PlanSettings(LIMITS))
    read = run_to_the_end(query)
    stream.put_many(first, 20, 0.01)
    empty, *_ = stream.split(first)
    youngest = stream.merge(*stream.split(empty))
    stream.put_many(second, 20, 0.01)
    stream.put_many(youngest, 3, 0.01)
    query.restart()
    query.planner.fix_targets()
    while batch := query.batch():
        read += batch
        named = query.start.streams["orders"].shards
        unread = {shard_id for shard_id, _ in {*everything(stream)} - {*read}}
        passed = {s for s in named if unread & stream.ancestors(s)}
        assert all(named[s].cut != ShardEnd() for s in passed)
    assert sorted(read) == sorted(everything(stream))
    assert_in_order(stream, read)


def test_a_run_has_no_batch_without_records_before_its_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where a stream that has reached its targets has a time to keep, while the other one is throttled."""
    slow = scripted_stream(1)
    done = ScriptedStream(slow.clock, name="done", number=2 * 10**56)
    done.create(1)
    slow.put_many(A, 10)
    find = StreamPlanner.find_targets

    def find_and_throttle(planner: StreamPlanner, draft: Draft) -> Targets:
        found = find(planner, draft)
        slow.fail("GetRecords", A, [throttle()])
        return found

    monkeypatch.setattr(StreamPlanner, "find_targets", find_and_throttle)
    query = Planned([done, slow], settings=PlanSettings(LIMITS))
    query.planner.fix_targets()
    assert [len(query.batch()) for _ in range(2)] == [5, 5]


def test_shards_that_leave_unread_after_the_look_ahead_are_a_loss() -> None:
    """That a younger shard was found without a record does not show that its parents were read."""
    stream = scripted_stream(1)
    assert stream.split(A) == [B, C]
    stream.put_many(B, 20, 0.01)
    stream.put_many(C, 20, 0.01)
    assert stream.merge(B, C) == D
    stream.split(D)
    planner = StreamPlanner("orders", stream, PlanSettings(), stream.clock, random.Random(0))
    start = StreamOffset(stream.created_ms, {A: ShardOffset(ShardEnd(), stream.now_ms())})
    assert set(planner.find_targets(Draft(start))) == {B, C}
    forget(stream, 0, 1, 2, 3)
    stream.clock.sleep(60)
    with pytest.raises(DataLossError):
        planner.refresh(start, patiently=True)


@pytest.mark.parametrize("records", [0, 3, 20])
def test_a_run_that_ends_does_not_wait(records: int) -> None:
    """The look for its targets leaves calls for the plan after it, and where they are reached nothing is left to wait for."""
    stream = scripted_stream(1)
    stream.put_many(A, records)
    query = Planned([stream], settings=PlanSettings(quota_share=0.5))
    begun_s = stream.clock.now_s()
    assert run_to_the_end(query) == everything(stream)
    query.restart()
    assert run_to_the_end(query) == []
    assert stream.clock.now_s() == begun_s
