"""How far the shards of a batch are apart in time, while a limit, a refusal or a gap holds one of them back."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Latest,
    Page,
    ShardEnd,
    ShardOffset,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.skew import HELD_S, cut_at
from support.fake_stream import FakeClock, FakeStream
from support.one_shard import OneShard
from support.planned import Planned, everything
from support.scripted_stream import scripted_stream, throttle
from support.slow_stream import CALL_S, SlowStream
from support.watermarks import lateness_ms

A, B = "shardId-000000000000", "shardId-000000000001"
SKEW_S = 10.0
BIG = b"x" * 20_000
SETTINGS = PlanSettings(Limits(max_records=50), first_plan_crosses_gaps=False)


def fill(stream: FakeStream, quiet: str, busy: str, seconds: int = 300) -> None:
    """Put five records a second into one shard and one in six seconds into another."""
    for second in range(seconds):
        for _ in range(5):
            stream.put(busy, b"x")
            stream.clock.sleep(0.2)
        if second % 6 == 0:
            stream.put(quiet, b"x")


def drained(query: Planned) -> list[list[tuple[str, str]]]:
    """Return the batches until nothing has come for a while."""
    batches, idle = [], 0
    while idle < 20:
        query.clock.sleep(1)  # a batch takes a while, and all shards are due again after it
        batch = query.batch()
        idle = 0 if batch else idle + 1
        if batch:
            batches.append(batch)
    return batches


def run_to_targets(query: Planned) -> list[list[tuple[str, str]]]:
    """Return the batches of a run that ends with what is there now."""
    query.planner.fix_targets()
    return list(iter(query.batch, []))


def assert_in_time(
    batches: list[list[tuple[str, str]]], stream: FakeStream, skew_ms: float = 1000 * SKEW_S
) -> None:
    """Assert that each record comes once, and none much later than a younger one."""
    assert sorted(r for batch in batches for r in batch) == sorted(everything(stream))
    assert lateness_ms(batches, [stream]) <= skew_ms


@pytest.mark.parametrize("position", [TrimHorizon(), AtTimestamp(1_790_000_000_000), Latest()])
def test_a_shard_with_many_records_holds_one_with_few(position: StartingPosition) -> None:
    """While a limit ends the busy shard before its tip, no batch has records of the other that are much later."""
    stream = scripted_stream(2)
    query = Planned([stream], position, SETTINGS)
    fill(stream, A, B)
    assert_in_time(drained(query), stream)


def test_holding_makes_hardly_more_batches() -> None:
    """The shard that is furthest behind loses no time: each batch has as much of it as without a limit of skew."""
    counts = []
    for skew_s in (SKEW_S, None):
        stream = scripted_stream(2)
        query = Planned([stream], settings=evolve(SETTINGS, max_shard_skew_s=skew_s))
        fill(stream, A, B)
        counts.append(len(drained(query)))
    assert counts[0] <= counts[1] + 1


def test_without_a_limit_of_skew_records_come_late() -> None:
    """The first batch has all of the quiet shard: what the busy one brings later is up to five minutes older."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, max_shard_skew_s=None))
    fill(stream, A, B)
    assert lateness_ms(drained(query), [stream]) > 200_000


def test_streams_of_a_query_hold_each_other() -> None:
    clock = FakeClock()
    streams = [
        FakeStream(clock, name=name, number=10**56 * i).create(1)
        for i, name in enumerate(("busy", "quiet"), 1)
    ]
    query = Planned(list(streams), settings=SETTINGS)
    for second in range(300):
        for _ in range(5):
            streams[0].put(A, b"x")
            clock.sleep(0.2)
        if second % 6 == 0:
            streams[1].put(A, b"x")
    batches = drained(query)
    assert sum(map(len, batches)) == 1550
    assert lateness_ms(batches, streams) <= 1000 * SKEW_S


def test_a_run_of_available_now_holds_shards_as_well() -> None:
    stream = scripted_stream(2)
    query = Planned([stream], settings=SETTINGS)
    fill(stream, A, B)
    assert_in_time(run_to_targets(query), stream)


def test_the_last_record_of_a_parent_holds_until_its_children_are_read() -> None:
    """The children of a shard that was closed long ago have records that are about as old as its last one."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits()))
    stream.put_many(B, 5)
    children = stream.split(B)
    stream.put_many(A, 5)
    for _ in range(60):
        for shard_id in (A, *children):
            stream.put(shard_id, b"x")
            stream.clock.sleep(1)
    assert_in_time(drained(query), stream)


def test_a_parent_at_its_target_holds_until_its_children_are_read() -> None:
    """A run that ends by itself reads the children of a closed shard later, and they have older records than others."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits()))
    stream.put_many(B, 5)
    children = stream.split(B)
    for _ in range(60):
        for shard_id in (A, *children):
            stream.put(shard_id, b"x")
            stream.clock.sleep(1)
    assert_in_time(run_to_targets(query), stream)


@pytest.mark.parametrize("hours", [1, 20])
def test_a_closed_shard_with_a_backlog_is_read_in_few_batches(hours: int) -> None:
    """A query comes back after an outage in which shards were split: it reads each of them as fast as an open one."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits()))
    children = [B]
    for _ in range(2):
        parent, *others = children
        for _ in range(60):
            for shard_id in (A, parent, *others):
                stream.put_many(shard_id, 100)
            stream.clock.sleep(hours * 30)
        children = [*stream.split(parent), *others]
    for shard_id in children:
        stream.put(shard_id, b"x")
    batches = drained(query)
    assert_in_time(batches, stream)
    assert len(batches) <= 7


def test_the_end_of_a_closed_shard_is_looked_for_once() -> None:
    """Plans that hold it, because another shard is behind, do not look for its last record again."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits()))
    stream.put(A, b"x")
    stream.put_many(B, 6000, every_s=0.1)
    stream.put(A, b"x")
    stream.split(B)
    stream.clock.sleep(3600)
    calls = []
    for _ in range(3):
        stream.log.clear()
        stream.fail("GetRecords", A, [throttle()])
        query.batch()
        stream.clock.sleep(5)
        calls.append(len(stream.calls_of("GetRecords", B)))
    assert calls[0] > 8
    assert max(calls[1:]) <= 3  # a sample, the end, and where it is held


def test_a_closed_shard_does_not_hold_its_own_last_record() -> None:
    """Not even where shards may not be apart at all: nothing would ever be read again."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits(), max_shard_skew_s=0.0))
    stream.put(B, b"x")
    children = stream.split(B)
    stream.put_many(A, 10, every_s=1)
    for shard_id in children:
        stream.put(shard_id, b"x")
    assert_in_time(drained(query), stream, 0)


def test_a_shard_with_arrival_times_out_of_order_does_not_hold_itself() -> None:
    """The last record of a closed shard arrived before its first one, and shards may not be apart at all."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits(max_records=5), max_shard_skew_s=0.0))
    stream.put(B, b"x")
    stream.clock.now -= 2
    stream.put(B, b"x")
    children = stream.split(B)
    stream.clock.sleep(5)
    for shard_id in (A, *children):
        stream.put_many(shard_id, 3, every_s=1)
    assert_in_time(drained(query), stream, 2000)


def test_an_end_before_a_record_from_the_future_has_no_time() -> None:
    """Such a time would make the next plan refuse the offset."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=SETTINGS)
    stream.put(B, b"x")
    stream.put_many(A, 200, every_s=1)
    stream.clock.sleep(7200)
    stream.put(B, b"of a wrong clock")
    stream.clock.now -= 7200
    stream.put(B, b"x")
    batches = drained(query)
    assert sorted(r for batch in batches for r in batch) == sorted(everything(stream))


def test_an_end_that_is_not_found_makes_no_more_probes_of_other_shards() -> None:
    """The shard stays where it is. That holds the others only if it comes before all that hold them already."""
    stream = scripted_stream(3)
    refused = stream.open_shards()[2]
    query = Planned([stream], settings=evolve(SETTINGS, limits=Limits(max_records=10)))
    for _ in range(100):
        stream.put_many(A, 5, every_s=0.1)
        stream.put(B, b"x")
        stream.put(refused, b"x")
        stream.clock.sleep(0.5)
    query.batches(2)
    stream.clock.sleep(1)
    stream.log.clear()
    stream.fail_after_next("GetRecords", refused, "GetShardIterator", throttle())
    assert {shard_id for shard_id, _ in query.batch()} == {A, B}
    probes = [call for call in stream.calls_of("GetShardIterator", B) if isinstance(call.cut, AtTimestamp)]
    assert len(probes) == 1


def test_a_shard_that_is_refused_takes_no_share_once_it_holds_nobody() -> None:
    """The limit of a batch is for those shards that go on."""
    stream = scripted_stream(2)
    limits = Limits(max_records=80)
    settings = evolve(SETTINGS, limits=Limits(), batch_limits=limits, inline_records=False)
    query = Planned([stream], settings=settings)
    fill(stream, A, B, seconds=20)
    query.batches(2)
    stream.put(B, b"x")
    stream.clock.sleep(600)
    stream.put_many(A, 1000)
    stream.fail("GetRecords", B, [throttle() for _ in range(1000)])
    batches = drained(query)
    assert max(map(len, batches)) >= 40


def test_at_the_tip_nothing_is_held_and_no_call_is_added() -> None:
    """Shards with and without new records end at their tips, with the calls that they make without a limit of skew."""
    calls = []
    for skew_s in (SKEW_S, None):
        stream = scripted_stream(2)
        query = Planned([stream], settings=evolve(SETTINGS, max_shard_skew_s=skew_s))
        stream.put_many(A, 3)
        stream.clock.sleep(1800)
        query.batch()
        stream.log.clear()
        for _ in range(20):
            put = stream.put_many(B, 3)
            stream.clock.sleep(0.7)
            assert query.batch() == [(B, record.sequence_number) for record in put]
            query.batch()
        calls.append(len(stream.log))
    assert calls[0] == calls[1]


def test_an_end_costs_one_more_probe() -> None:
    """Only shards that would be too far ahead are probed once more."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=SETTINGS)
    fill(stream, A, B)
    query.batch()
    stream.log.clear()
    query.batch()
    held = [call for call in stream.calls_of("GetShardIterator", A) if isinstance(call.cut, AtTimestamp)]
    assert len(held) <= 1


def test_a_shard_that_is_refused_holds_others_for_a_minute_at_most() -> None:
    """A shard that has old records and cannot be read holds the others; after a minute they go on without it."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=SETTINGS)
    query.batch()
    stream.put_many(A, 3)
    stream.clock.sleep(600)
    stream.put_many(B, 3)
    stream.fail("GetRecords", A, [throttle() for _ in range(1000)])
    started_s = stream.clock.now
    while not (read := query.batch()):
        assert stream.clock.now - started_s <= HELD_S + 10
    assert {shard_id for shard_id, _ in read} == {B}
    assert stream.clock.now - started_s >= HELD_S
    later = stream.put_many(B, 3)
    stream.clock.sleep(1)
    assert query.batch() == [(B, record.sequence_number) for record in later]


def test_shards_that_a_budget_would_leave_too_far_behind_are_planned() -> None:
    """A budget leaves shards out while they are at most so far behind, and no longer."""
    stream = SlowStream(FakeClock()).create(10)
    settings = PlanSettings(Limits(max_records=5), first_plan_crosses_gaps=False, plan_budget_s=2.5 * CALL_S)
    query = Planned([stream], Latest(), settings)
    query.batch()
    for _ in range(60):
        for shard_id in stream.shards:
            stream.put(shard_id, b"x")
        stream.clock.sleep(3)
    assert_in_time(drained(query), stream)
    put = [stream.put(shard_id, b"x") for shard_id in stream.shards]
    stream.clock.sleep(1)
    assert 0 < len(query.batch()) < len(put)


class LiveStream(SlowStream):
    """Each shard gets a record during each call of GetRecords."""

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        for each in self.shards:
            self.put(each, BIG)
        return SlowStream.get_records(self, iterator, limit, with_data, shard_id)


def test_a_plan_that_takes_longer_than_shards_may_be_apart() -> None:
    """It looks for no records that came long after it began: else its first shards would hold all others, for a call each."""
    calls = []
    for skew_s in (SKEW_S, None):
        stream = LiveStream(FakeClock()).create(100)
        settings = PlanSettings(first_plan_crosses_gaps=False, plan_budget_s=None, max_shard_skew_s=skew_s)
        query = Planned([stream], settings=settings)
        for _ in range(3):
            stream.calls.clear()
            query.start = query.planner.next_offset(query.start)
            assert query.planner.last_plan.planning_s > SKEW_S
        calls.append(stream.calls["GetRecords"])
    assert calls[0] == pytest.approx(calls[1], rel=0.1)


def test_a_shard_that_is_gone_is_passed_while_another_is_behind() -> None:
    """Nothing of it can be held back: its children are read as soon as their time comes."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=evolve(SETTINGS, fail_on_data_loss=False))
    stream.put_many(B, 3)
    query.batch()
    stream.put_many(B, 3)
    stream.split(B)
    busy, child, _ = stream.open_shards()
    fill(stream, child, busy)
    del stream.shards[B]
    query.clock.sleep(1)
    query.batch()
    assert query.start.streams["orders"].started(B).cut == ShardEnd()


@pytest.mark.parametrize(
    ("until", "held", "comes_next"),
    [(-1, "nothing", 0), (0, "nothing", 1), (1, "at", None), (2, "end", None), (4, "end", None)],
    ids=["before it starts", "before its first", "within", "at its last", "after all"],
)
def test_an_end_that_is_held(until: int, held: str, comes_next: int | None) -> None:
    """A batch of the second and third of five records ends before the first one that is too late, if that is one of them."""
    one = OneShard()
    put = one.put(5, every_s=1)
    started = ShardOffset(After(put[0].number), put[0].arrived_ms)
    end = ShardOffset(After(put[2].number), put[2].arrived_ms, put[1].number)
    until_ms = (put[0].arrived_ms or 0) + 1000 * until
    found = cut_at(one.state, started, end, until_ms)
    at = ShardOffset(At(put[2].number), put[2].arrived_ms, put[1].number)
    assert found == {"nothing": started, "at": at, "end": end}[held]
    following = one.state.evidence.next_record(started.cut)
    assert following == (put[1] if comes_next == 1 else None)
    assert (one.state.lag_ms is None) == (held == "end"), "a shard that is held is behind"
