"""A limit of a whole batch: what shards that need little leave, goes to the others."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import evolve

from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.shares import LEAST
from support.fake_stream import FakeClock
from support.planned import Planned, Read
from support.scripted_stream import ScriptedStream, scripted_stream

SHARDS = 16
LIMIT = 1000
EQUAL = LIMIT // SHARDS
BY_RECORDS = PlanSettings(batch_limits=Limits(max_records=LIMIT), max_shard_skew_s=None)
BY_BYTES = evolve(BY_RECORDS, batch_limits=Limits(max_bytes=100 * LIMIT))
BACKLOG = 8 * LIMIT
FEW = BACKLOG // LIMIT + 3
"""Batches that read the backlog: the limit once each, without what the idle shards may take, after one of equal parts."""


def put_backlog(stream: ScriptedStream, shard_id: str, count: int = BACKLOG) -> None:
    stream.put_many(shard_id, count, 0.001, b"x" * 100)


def batches(query: Planned, period_s: float = 1.0) -> list[Read]:
    """Return all batches until nothing is left."""
    found: list[Read] = []
    while read := query.batch():
        found.append(read)
        query.clock.sleep(period_s)
    return found


def sizes(found: list[Read]) -> list[int]:
    return [len(read) for read in found]


def by_shard(read: Read) -> Counter[str]:
    return Counter(shard_id for shard_id, _ in read)


def catching_up() -> tuple[ScriptedStream, Planned]:
    """Return a query that knows all of its shards: the first one has a backlog, and the others are idle."""
    stream = scripted_stream(SHARDS)
    put_backlog(stream, "shardId-000000000000", 20 * LIMIT)
    stream.clock.sleep(60)
    query = Planned([stream], settings=BY_RECORDS)
    query.batches(2)
    return stream, query


@pytest.mark.parametrize("settings", [BY_RECORDS, BY_BYTES])
def test_idle_shards_leave_their_parts(settings: PlanSettings) -> None:
    """The busy one of many shards gets the limit, once a plan has seen that the others are idle."""
    stream = scripted_stream(SHARDS)
    put_backlog(stream, "shardId-000000000003")
    stream.clock.sleep(60)
    found = sizes(batches(Planned([stream], settings=settings)))
    assert sum(found) == BACKLOG
    assert max(found) <= LIMIT
    assert len(found) <= FEW


def test_an_idle_stream_is_known_before_its_backlog() -> None:
    """Shards that were idle when a backlog came are idle: only the busy shard has to be seen once."""
    stream = scripted_stream(SHARDS)
    query = Planned([stream], settings=BY_RECORDS)
    assert query.batch() == []
    put_backlog(stream, "shardId-000000000003")
    assert len(batches(query)) <= FEW


def test_a_run_to_targets_begins_with_all_of_the_limit() -> None:
    """The shards that have nothing to read in this run get nothing from the first batch on."""
    stream = scripted_stream(SHARDS)
    put_backlog(stream, "shardId-000000000003")
    stream.clock.sleep(60)
    query = Planned([stream], settings=BY_RECORDS)
    query.planner.fix_targets()
    found = sizes(batches(query))
    assert sum(found) == BACKLOG
    assert len(found) <= FEW - 2


def test_children_have_parts_of_their_own() -> None:
    """After a reshard the limit is divided by the shards that are there then, also by those that the plan itself comes upon."""
    stream = scripted_stream(SHARDS)
    query = Planned([stream], settings=BY_RECORDS)
    assert query.batch() == []
    parents = stream.open_shards()[:2]
    children = [child for parent in parents for child in stream.split(parent)]
    for child in children:
        put_backlog(stream, child, BACKLOG // 4)
    found = batches(query)
    assert sum(sizes(found)) == BACKLOG
    assert max(sizes(found)) <= LIMIT
    assert len(found) <= FEW
    assert set(by_shard(found[0])) == set(children)
    assert len(found[0]) <= 2 * (EQUAL + 2), "they have what their parents left"


def test_streams_share_the_limit() -> None:
    """A limit is of a batch, and a batch is of all streams of a query."""
    clock = FakeClock()
    idle, busy = scripted_stream(SHARDS - 1, "idle", clock), scripted_stream(1, "busy", clock)
    put_backlog(busy, "shardId-000000000000")
    clock.sleep(60)
    found = sizes(batches(Planned([idle, busy], settings=BY_RECORDS)))
    assert sum(found) == BACKLOG
    assert max(found) <= LIMIT
    assert len(found) <= FEW


def test_shards_that_are_all_behind_have_equal_parts() -> None:
    """No shard waits for another one to catch up."""
    stream = scripted_stream(4)
    for shard_id in stream.open_shards():
        put_backlog(stream, shard_id, 2000)
    stream.clock.sleep(60)
    query = Planned([stream], settings=BY_RECORDS)
    for _ in range(3):
        read = by_shard(query.batch())
        assert {
            shard_id: LIMIT // 4 - 1 <= count <= LIMIT // 4 + 1 for shard_id, count in read.items()
        } == dict.fromkeys(stream.shards, True)
        stream.clock.sleep(1)


def test_a_shard_that_becomes_busy_has_its_part_in_the_next_batch() -> None:
    """It was guessed to need little, so its first batch is small: an eighth of an equal part. It is small once."""
    stream, query = catching_up()
    put_backlog(stream, "shardId-000000000003", 2000)
    first, second = by_shard(query.batch()), by_shard(query.batch())
    assert EQUAL // LEAST <= first["shardId-000000000003"] <= EQUAL // LEAST + 2
    assert second["shardId-000000000003"] >= 0.4 * LIMIT


def test_shards_stay_at_their_tips_while_others_catch_up() -> None:
    """What a shard takes in steadily is left to it, with room; the backlog of another gets the rest."""
    stream, query = catching_up()
    steady, read = stream.open_shards()[5:10], Counter[str]()
    for i in range(8):
        for shard_id in steady * 20:
            stream.put(shard_id, b"x" * 100)
            stream.clock.sleep(0.01)
        read = by_shard(query.batch())
        assert i < 2 or read == {
            stream.open_shards()[0]: read["shardId-000000000000"],
            **dict.fromkeys(steady, 20),
        }
        assert i < 2 or read["shardId-000000000000"] >= 0.7 * LIMIT


def test_a_restarted_query_divides_equally_at_first() -> None:
    """A planner that has seen nothing takes no shard for idle."""
    stream, query = catching_up()
    for shard_id in stream.open_shards()[1:]:
        put_backlog(stream, shard_id, 100)
    query.restart()
    read = by_shard(query.batch())
    assert all(EQUAL - 2 <= count <= EQUAL + 2 for count in read.values())
    assert len(read) == SHARDS


def test_a_plan_that_was_thrown_away_proves_nothing_of_its_start() -> None:
    """The tip of a look-ahead is not where the next batch begins: such a shard is not taken for idle."""
    stream = scripted_stream(2)
    for shard_id in stream.open_shards():
        put_backlog(stream, shard_id, 2 * LIMIT)
    stream.clock.sleep(60)
    query = Planned([stream], settings=BY_RECORDS)
    query.planner.next_offset(query.start, bounded=False)
    stream.clock.sleep(1)
    read = by_shard(query.batch())
    assert all(LIMIT // 2 - 1 <= count <= LIMIT // 2 + 1 for count in read.values())


def test_shards_that_are_held_leave_their_parts() -> None:
    """While all but one shard wait for that one, because their next records came much later, it has the limit."""
    stream = scripted_stream(SHARDS)
    busy, *others = stream.open_shards()
    put_backlog(stream, busy)
    stream.clock.sleep(60)
    for shard_id in others:
        put_backlog(stream, shard_id, 10)
    stream.clock.sleep(60)
    query = Planned([stream], settings=evolve(BY_RECORDS, max_shard_skew_s=10.0))
    found = batches(query)
    assert sum(sizes(found)) == BACKLOG + 10 * len(others)
    assert max(sizes(found)) <= LIMIT
    assert len(found) <= FEW + 1


def test_each_shard_keeps_its_own_limit() -> None:
    """Its part of a batch is no more than what one shard may have."""
    stream = scripted_stream(SHARDS)
    put_backlog(stream, "shardId-000000000003", 1000)
    stream.clock.sleep(60)
    settings = PlanSettings(Limits(max_records=100), batch_limits=Limits(max_records=LIMIT))
    found = sizes(batches(Planned([stream], settings=settings)))
    assert max(found) == 100


def test_a_batch_without_limits_has_everything() -> None:
    """A trigger that takes what is there is not limited by a share."""
    stream = scripted_stream(SHARDS)
    put_backlog(stream, "shardId-000000000003")
    query = Planned([stream], settings=BY_RECORDS)
    assert len(query.batch(bounded=False)) == BACKLOG
