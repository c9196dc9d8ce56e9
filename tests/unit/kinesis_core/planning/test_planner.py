from __future__ import annotations

import threading
from concurrent import futures
from typing import Any

import pytest
from attrs import define, field

from kinesis_core.errors import AccessDeniedError, OffsetError, StreamRecreatedError
from kinesis_core.model import Offset, Page, ShardOffset, StreamOffset
from kinesis_core.planning import Limits, Planner, PlanSettings, schedule
from kinesis_core.shards import VISIT_PAGES
from support.fake_stream import FakeClock
from support.planned import Planned, everything, through_text
from support.scripted_stream import ScriptedStream, scripted_stream, throttle
from support.waiting import PATIENCE_S

A, B, C, D = (f"shardId-{i:012d}" for i in range(4))


def positions(offset: Offset, stream: str = "orders") -> dict[str, ShardOffset]:
    return dict(offset.streams[stream].shards)


# Idle streams


def test_an_idle_plan_returns_the_very_offset_it_was_given() -> None:
    """Without new records the next offset is the start itself, so that Spark sees equal texts and runs no batch."""
    query = Planned([scripted_stream(3)])
    query.streams[0].put(A, b"x")
    query.batch()
    for _ in range(5):
        start = through_text(query.start)
        assert query.planner.next_offset(start) is start


def test_an_idle_plan_costs_one_get_records_per_shard() -> None:
    """Hours of idle plans cost one GetRecords per shard each, one listing per interval, and no new iterator."""
    stream = scripted_stream(4)
    query = Planned([stream])
    query.batches(2)
    stream.calls.clear()
    for _ in range(30):
        stream.clock.sleep(5)
        query.batch()
    assert stream.calls == {"GetRecords": 4 * 30, "ListShards": 15}


def test_plans_in_a_tight_loop_stay_within_the_quota() -> None:
    """Asking an idle shard without a pause makes half the 5 calls a second that all its consumers share."""
    stream = scripted_stream(1)
    query = Planned([stream])
    started = stream.clock.now
    for _ in range(100):
        query.batch()
    assert len(stream.calls_of("GetRecords")) <= 2.5 * (stream.clock.now - started) + 3


def test_a_record_in_an_idle_stream_is_planned_at_the_next_plan() -> None:
    """News of one shard make a batch of that shard alone."""
    stream = scripted_stream(3)
    query = Planned([stream])
    query.batches(2)
    stream.clock.sleep(1)
    record = stream.put(B, b"x")
    assert query.batch() == [(B, record.sequence_number)]


def test_a_clock_that_is_set_back_holds_no_plan_up() -> None:
    """After the driver's clock was set back by an hour, shards are asked and listed as before."""
    stream = scripted_stream(1)
    query = Planned([stream])
    query.batches(3)
    stream.clock.now -= 3600
    started = stream.clock.now
    stream.calls.clear()
    record = stream.put(A, b"x")
    assert query.batch() == [(A, record.sequence_number)]
    assert stream.calls["ListShards"] == 1
    assert stream.clock.now - started < 1


# One shard does not hold up another


@pytest.mark.parametrize("is_running", [False, True])
def test_a_gap_holds_up_no_other_shard(is_running: bool) -> None:
    """While one shard's long gap is crossed over several plans of a run, the others' records come at once."""
    stream = scripted_stream(2)
    # Where nothing is known of the first shard, it would hold the other one back at its start.
    query = Planned(
        [stream],
        settings=PlanSettings(
            first_plan_crosses_gaps=is_running, max_shard_skew_s=10.0 if is_running else None
        ),
    )
    if is_running:
        query.batch()
    stream.put_many(A, 3)
    stream.gaps[A, 0] = 3 * VISIT_PAGES
    for _ in range(3):
        record = stream.put(B, b"x")
        assert query.batch() == [(B, record.sequence_number)]
        stream.clock.sleep(1)
    assert query.batches(2) == everything(stream, A)


def test_a_throttle_holds_up_no_other_shard() -> None:
    """A throttled shard is left for the next plan; the others' records come at once."""
    stream = scripted_stream(2)
    query = Planned([stream])
    query.batch()
    stream.put_many(A, 3)
    stream.put_many(B, 3)
    stream.fail("GetRecords", A, [throttle()])
    assert query.batch() == everything(stream, B)
    stream.clock.sleep(5)
    assert query.batch() == everything(stream, A)


def test_a_run_that_ends_reads_shards_together() -> None:
    """A shard that can be read a moment after another one is in the same batch, because each batch takes a while."""
    stream = scripted_stream(2)
    stream.put_many(A, 3)
    stream.put_many(B, 3)
    stream.gaps[A, 0] = 2  # takes more calls
    query = Planned([stream], threads=1)
    query.planner.fix_targets()
    assert query.batch() == everything(stream)


def test_a_throttle_holds_up_no_other_shard_of_a_run_that_ends() -> None:
    """Batches come from the other shard while one rests for longer than a batch takes."""
    stream = scripted_stream(2)
    stream.put_many(A, 3)
    stream.put_many(B, 20)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=1)))
    query.planner.fix_targets()
    query.batch()
    stream.fail("GetRecords", A, [throttle()] * 5)
    started_s = stream.clock.now
    assert query.batches(10) == everything(stream, B)[1:11]
    assert stream.clock.now - started_s < 5


def test_a_throttle_of_get_shard_iterator_holds_up_no_other_shard() -> None:
    """A shard whose iterators are throttled for longer than the retries last is left for the next plan."""
    stream = scripted_stream(2)
    stream.put_many(A, 3)
    stream.put_many(B, 3)
    stream.fail("GetShardIterator", A, [throttle()])
    query = Planned([stream], settings=PlanSettings(max_shard_skew_s=None))
    assert query.batch() == everything(stream, B)
    stream.clock.sleep(5)
    assert query.batch() == everything(stream, A)


def test_an_error_that_no_retry_helps_is_raised() -> None:
    """Denied access ends the plan, also from a thread of the planner's pool."""
    stream = scripted_stream(2)
    stream.fail("GetRecords", B, [AccessDeniedError("not allowed", "AccessDeniedException")])
    query = Planned([stream], threads=4)
    with pytest.raises(AccessDeniedError, match="not allowed"):
        query.batch()
    query.planner.close()


@define
class HalfDown(ScriptedStream):
    """One shard's calls fail while a call on the other is under way, which ends once it is waited for."""

    called: threading.Event = field(factory=threading.Event)
    waited_for: threading.Event = field(factory=threading.Event)
    is_under_way: bool = False

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        if shard_id == A:
            assert self.called.wait(PATIENCE_S)
            raise AccessDeniedError("not allowed", "AccessDeniedException")
        self.is_under_way = True
        self.called.set()
        assert self.waited_for.wait(PATIENCE_S)
        self.is_under_way = False
        return super().get_records(iterator, limit, with_data, shard_id)


def test_a_failed_plan_leaves_nothing_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next plan uses the same views of shards: no thread may still be at them."""
    stream = HalfDown(FakeClock())
    stream.create(2)
    query = Planned([stream], threads=4)

    def wait(threads: Any) -> Any:
        futures.wait(threads, return_when=futures.FIRST_COMPLETED)  # the one that failed
        stream.waited_for.set()
        return futures.wait(threads)

    monkeypatch.setattr(schedule, "wait", wait)
    with pytest.raises(AccessDeniedError):
        query.batch()
    assert not stream.is_under_way
    query.planner.close()


# Resharding


def test_children_wait_for_the_batch_that_finished_their_parent() -> None:
    """A bounded plan has either a parent's records or its children's, never both."""
    stream = scripted_stream(1)
    stream.put_many(A, 3)
    left, right = stream.split(A)
    stream.put(left, b"x")
    stream.put(right, b"x")
    query = Planned([stream])
    assert query.batch() == everything(stream, A)
    assert query.batch() == everything(stream, left, right)


def test_a_merged_shard_waits_for_both_parents() -> None:
    """The child of a merge is read when both parents are finished, though one of them still has a backlog."""
    stream = scripted_stream(2)
    stream.put_many(A, 1, 0.1)
    stream.put_many(B, 400, 0.1)
    child = stream.merge(A, B)
    stream.put(child, b"x")
    stream.clock.sleep(60)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=100)))
    read = query.batches(20)
    assert sorted(read) == everything(stream)
    assert read[-1][0] == child


def test_a_reshard_is_found_at_once_whatever_the_interval() -> None:
    """The end of a shard triggers discovery, so that its children are planned in the very plan that found it empty."""
    stream = scripted_stream(1)
    query = Planned([stream], settings=PlanSettings(shard_discovery_interval_s=3600))
    stream.put(A, b"x")
    query.batches(3)
    left, _ = stream.split(A)
    record = stream.put(left, b"x")
    stream.clock.sleep(1)
    assert query.batch() == [(left, record.sequence_number)]


def test_a_shard_that_ended_without_news_makes_no_batch() -> None:
    """A split of an idle shard runs no batch of its own; the next one names the children instead of the parent."""
    stream = scripted_stream(1)
    query = Planned([stream])
    stream.put(A, b"x")
    query.batch()
    left, _ = stream.split(A)
    before = query.start
    for _ in range(3):
        stream.clock.sleep(20)
        assert query.batch() == []
        assert query.start.to_json() == before.to_json()
    stream.put(left, b"x")
    stream.clock.sleep(20)
    query.batch()
    assert set(positions(query.start)) == set(stream.open_shards())


def test_a_finished_shard_leaves_the_offset_when_its_children_are_started() -> None:
    """A finished shard is kept until the offset names all of its children, listed or not; then it counts as read."""
    stream = scripted_stream(1)
    query = Planned([stream])
    stream.put(A, b"x")
    left, right = stream.split(A)
    stream.put(left, b"x")
    stream.clock.sleep(20)
    query.batch()
    assert set(positions(query.start)) == {A}
    query.batch()
    assert set(positions(query.start)) == {left, right}
    del stream.shards[A]
    read = query.batches(2)
    stream.put(right, b"x")
    read += query.batches(2)
    stream.put(left, b"y")
    stream.clock.sleep(20)
    read += query.batches(2)
    assert read == [*everything(stream, right), everything(stream, left)[-1]]
    assert A not in positions(query.start)


def test_forgotten_ancestors_are_not_read_again() -> None:
    """A shard that left the offset and is listed once more counts as read."""
    stream = scripted_stream(1)
    stream.put(A, b"x")
    left, right = stream.split(A)
    stream.put_many(left, 2)
    query = Planned([stream])
    query.batches(2)
    shards = {s: p for s, p in positions(query.start).items() if s != A}
    query.start = Offset({"orders": StreamOffset(stream.created_ms, shards)})
    query.restart()
    stream.put(right, b"x")
    assert query.batches(3) == everything(stream, right)


def test_an_unbounded_batch_reads_generations_in_order() -> None:
    """Without a bound one batch holds parents, children and grandchildren, each after its parents."""
    stream = scripted_stream(2)
    stream.put_many(A, 30, 0.05)
    stream.put_many(B, 5, 0.05)
    left, right = stream.split(A)
    stream.put_many(left, 30, 0.05)
    stream.put_many(right, 5, 0.05)
    child = stream.merge(right, B)
    stream.put_many(child, 3)
    query = Planned([stream])
    read = query.batch(bounded=False)
    assert sorted(read) == everything(stream)
    order = list(dict.fromkeys(shard for shard, _ in read))
    assert order.index(A) < order.index(left)
    assert order.index(A) < order.index(right) < order.index(child)
    assert order.index(B) < order.index(child)
    assert query.batch(bounded=False) == []


def test_a_replay_after_a_restart_reads_generations_in_order() -> None:
    """A restarted query replays a batch of parents and children in their order, before it has planned anything."""
    stream = scripted_stream(1)
    stream.put_many(A, 3)
    grandchildren = stream.split(stream.split(A)[0])
    stream.put_many(grandchildren[0], 3)
    stream.put_many(C, 3)
    query = Planned([stream])
    start = query.start
    read = query.batch(bounded=False)
    assert len(read) == 9
    end = query.start
    query.restart()
    assert [[r.shard_id for r in group] for group in query.planner.range_groups(start, end)] == [
        [A, C, grandchildren[0]]
    ]
    assert query.read(start, end) == read


# Several streams, and offsets of others


def test_several_streams_are_planned_together() -> None:
    """One batch has the new records of every stream, and a stream without new records does not delay another."""
    clock = scripted_stream().clock
    orders, returns = scripted_stream(1, clock=clock), scripted_stream(1, "returns", clock)
    query = Planned([orders, returns])
    orders.put(A, b"x")
    returns.put_many(A, 2)
    assert sorted(query.batch()) == sorted(everything(orders) + everything(returns))
    clock.sleep(1)
    record = returns.put(A, b"x")
    assert query.batch() == [(A, record.sequence_number)]
    assert query.batch() == []


def test_a_batch_without_news_of_a_stream_replays_without_it() -> None:
    """A replay of a batch of one stream brings nothing of the other, whose position was carried along."""
    clock = scripted_stream().clock
    orders, returns = scripted_stream(1, clock=clock), scripted_stream(1, "returns", clock)
    query = Planned([orders, returns])
    orders.put(A, b"x")
    query.batch()
    clock.sleep(1)
    start = query.start
    record = returns.put(A, b"x")
    query.batch()
    query.restart()
    assert query.read(start, query.start) == [(A, record.sequence_number)]


@pytest.mark.parametrize("names", [[], ["orders"], ["orders", "returns", "more"], ["orders", "RETURNS"]])
def test_an_offset_of_other_streams_is_refused(names: list[str]) -> None:
    """An offset that lacks a stream of the query, or has another one, is refused naming both sides."""
    clock = scripted_stream().clock
    query = Planned([scripted_stream(1, clock=clock), scripted_stream(1, "returns", clock)])
    offset = Offset({name: StreamOffset(1) for name in names})
    for ask in (query.planner.next_offset, lambda end: query.planner.range_groups(query.start, end)):
        with pytest.raises(OffsetError, match=r"saved offset is of the streams .*'orders', 'returns'"):
            ask(offset)


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_recreated_stream_is_refused(is_replayed: bool) -> None:
    """
    A stream that is deleted and created again under its name is refused, whether the next batch is planned or replayed.

    The error has both times of creation.
    """
    stream = scripted_stream(1)
    query = Planned([stream])
    start = query.start
    stream.put(A, b"x")
    query.batch()
    stream.created_ms += 1
    query.restart()
    times = r"2026-05-28 20:26:40 UTC.*2026-05-28 20:26:40\.001 UTC"
    with pytest.raises(
        StreamRecreatedError,
        match=rf"orders was deleted and created again.*{times}\. Start without the saved offset.*stream=orders",
    ):
        query.read(start, query.start) if is_replayed else query.batch()


# The rest


def test_lag_by_shard() -> None:
    """The lag is reported per stream and shard as of the last plan; a shard that was never read has no lag."""
    stream = scripted_stream(2)
    query = Planned([stream])
    assert query.planner.lag_ms() == {"orders": {}}
    stream.put_many(A, 200, 0.1)
    stream.clock.sleep(100)
    query.settings = PlanSettings(Limits(max_records=1))
    query.restart()
    query.batch()
    lag = query.planner.lag_ms()["orders"]
    assert lag[B] == 0
    assert lag[A] > 100_000


def test_threads_and_one_thread_plan_alike() -> None:
    """Planning with a pool gives the offsets that planning without gives."""
    ends = []
    for threads in (1, 8):
        stream = scripted_stream(20)
        for shard_id in stream.open_shards():
            stream.put_many(shard_id, 3)
        query = Planned([stream], threads=threads)
        ends.append(query.planner.next_offset(query.start).to_json())
        query.planner.close()
    assert ends[0] == ends[1]


def test_closing_ends_the_threads() -> None:
    """After close no thread of the planner is left, and closing twice is harmless."""
    stream = scripted_stream(20)
    query = Planned([stream], threads=8)
    query.batch()
    query.planner.close()
    query.planner.close()
    mine = [t for t in threading.enumerate() if t.name.startswith("kinesis-plan")]
    for thread in mine:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in mine)


def test_a_planner_needs_no_settings() -> None:
    """Everything but the streams has a default."""
    planner = Planner({"orders": scripted_stream(1)})
    assert planner.lag_ms() == {"orders": {}}
    planner.close()
