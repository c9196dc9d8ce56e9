"""What changes under a running query: the horizon, the retention, the stream itself."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from attrs import frozen

from kinesis_core.errors import DataLossError, IteratorExpiredError, StreamRecreatedError
from kinesis_core.model import AtTimestamp, Latest, PerShard, StartingPosition, StreamSummary, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.stream_facts import KNOWN_S, StreamFacts
from support.planned import Planned, everything
from support.scripted_stream import ITERATOR_LIFE_S, ScriptedStream, scripted_stream
from support.waiting import PATIENCE_S

A = "shardId-000000000000"
HOUR_S = 3600
MARGIN_S = 300


def at_its_retention() -> ScriptedStream:
    """Return a stream that has been fed for longer than its retention, with a record a minute."""
    stream = scripted_stream(1)
    stream.forgets = True
    stream.put_many(A, 25 * 60, every_s=60)
    return stream


# TRIM_HORIZON


@pytest.mark.parametrize("position", [TrimHorizon(), PerShard({A: TrimHorizon()})])
def test_the_oldest_records_are_passed_over(position: StartingPosition) -> None:
    """A start at the oldest record leaves out those that are about to leave the stream, and no others."""
    stream = at_its_retention()
    query = Planned([stream], position)
    started_ms = stream.now_ms()
    end = query.planner.next_offset(query.start, bounded=False)
    stream.clock.sleep(MARGIN_S - 30)  # until the task begins
    read = query.read(query.start, end)
    kept_ms = started_ms - 24 * HOUR_S * 1000 + MARGIN_S * 1000
    assert read == [
        (A, r.sequence_number) for r in stream.shards[A].records if (r.arrived_ms or 0) >= kept_ms
    ]


def test_without_a_margin_the_very_oldest_record_is_promised() -> None:
    """The margin may be 0: then a batch whose first record has left says so, and names the way on."""
    stream = at_its_retention()
    query = Planned([stream], settings=PlanSettings(trim_horizon_margin_s=0))
    end = query.planner.next_offset(query.start)
    stream.clock.sleep(MARGIN_S)
    with pytest.raises(DataLossError, match=r"records from AT .* expired.*fail_on_data_loss=False"):
        query.read(query.start, end)
    query.settings = PlanSettings(fail_on_data_loss=False)
    assert query.read(query.start, end)[0] == everything(stream)[stream.shards[A].trimmed]


def test_young_records_are_all_read() -> None:
    """Where nothing is about to leave, TRIM_HORIZON is the oldest record, whatever the age of the stream."""
    stream = scripted_stream(1)
    stream.forgets = True
    stream.put_many(A, 5, every_s=HOUR_S)
    assert Planned([stream]).batch() == everything(stream)


def test_a_recent_time_is_taken_as_it_is() -> None:
    """A time well within the retention is where reading begins."""
    stream = at_its_retention()
    since_ms = stream.now_ms() - HOUR_S * 1000
    query = Planned([stream], AtTimestamp(since_ms))
    assert query.start.streams["orders"].shards[A].cut == AtTimestamp(since_ms)


# The retention


@pytest.mark.parametrize("limit", [5, 20, 100])
@pytest.mark.parametrize("hours", [33, 66])
def test_a_retention_that_is_lowered_while_a_query_is_behind(limit: int, hours: int) -> None:
    """Records that expire when the retention is lowered are reported by the next plan, however they are spread."""
    stream = scripted_stream(1)
    stream.forgets, stream.retention_hours = True, 168
    stream.put_many(A, 30 * hours, every_s=120)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=limit)))
    query.batch()
    stream.retain(24)
    with pytest.raises(DataLossError, match="retention 24 h"):
        query.batch()


def test_a_query_behind_in_a_stream_of_long_retention() -> None:
    """A query that is days behind, in a stream that keeps its records for a week, is in no doubt."""
    stream = scripted_stream(1)
    stream.forgets, stream.retention_hours = True, 168
    stream.put_many(A, 200, every_s=1800)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=20)))
    read = query.batches(5)
    query.restart()
    assert read + query.batches(30) == everything(stream)


def test_a_silent_shard_in_a_stream_of_long_retention() -> None:
    """A shard that was seen empty two days ago has lost nothing where records are kept for a week."""
    stream = scripted_stream(1)
    stream.forgets, stream.retention_hours = True, 168
    stream.put_many(A, 3)
    query = Planned([stream])
    query.batch()
    for _ in range(30):
        stream.clock.sleep(8 * HOUR_S)
        assert query.batch() == []
    stream.clock.sleep(60 * HOUR_S)
    record = stream.put(A, b"x")
    query.restart()
    assert query.batch() == [(A, record.sequence_number)]


# The stream


def recreated(position: StartingPosition, wait_s: float) -> tuple[ScriptedStream, Planned]:
    """Return a query with two idle shards and a busy one, whose stream was created again and has other records."""
    stream = scripted_stream(3)
    stream.clock.sleep(10)
    query = Planned([stream], position)
    stream.put_many("shardId-000000000002", 3)
    query.batches(5)
    stream.clock.sleep(wait_s)
    stream.recreate(3)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, 10)
    return stream, query


@pytest.mark.parametrize("position", [TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
@pytest.mark.parametrize("wait_s", [0.0, ITERATOR_LIFE_S + 1, KNOWN_S + 1])
def test_a_stream_that_is_recreated_under_a_running_query(position: StartingPosition, wait_s: float) -> None:
    """No record of the new stream is read, whether or not the old iterators have expired meanwhile."""
    _, query = recreated(position, wait_s)
    with pytest.raises(
        StreamRecreatedError, match=r"deleted and created again.*Start without the saved offset"
    ):
        query.batches(3)


def test_a_stream_that_is_recreated_before_children_are_begun() -> None:
    """A child of the old stream is not begun in the new one, which has a shard of that name and takes any start without a number."""
    stream = scripted_stream(1)
    query = Planned([stream])
    stream.put_many(A, 1)
    stream.split(A)
    read = query.batch()
    stream.gone.clear()
    stream.recreate(2)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, 3)
    stream.split(A)  # as in the old stream
    with pytest.raises(StreamRecreatedError):
        read += query.batches(3)
    assert len(read) == 1


def test_shards_that_are_begun_together_cost_one_question() -> None:
    """A plan that begins many shards asks once whether the stream is still the same, and the next plans do not ask."""
    stream = scripted_stream(50)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, 3)
    query = Planned([stream])
    described = len(stream.calls_of("DescribeStreamSummary"))
    assert query.batch() == everything(stream)
    assert len(stream.calls_of("DescribeStreamSummary")) == described + 1
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, 3)
    query.batches(3)
    assert len(stream.calls_of("DescribeStreamSummary")) == described + 1


def test_iterators_that_expire_together_cost_one_question() -> None:
    """A plan whose every iterator has expired asks once whether the stream is still the same."""
    stream = scripted_stream(50)
    query = Planned([stream])
    query.batch()
    stream.clock.sleep(ITERATOR_LIFE_S + 1)
    described = len(stream.calls_of("DescribeStreamSummary"))
    query.batch()
    assert len(stream.calls_of("DescribeStreamSummary")) == described + 1


def test_threads_that_find_expired_iterators_ask_once() -> None:
    """A thread that meets an expired iterator while another one describes the stream waits for that response."""
    stream = scripted_stream()
    facts = StreamFacts("orders", stream, stream.clock)
    facts.begin_plan(stream.created_ms)
    facts.begin_plan(stream.created_ms)
    other = threading.Thread(target=facts.see_same_stream)
    asked, describe = [threading.Event(), threading.Event()], stream.describe

    def describe_while_others_ask() -> StreamSummary:
        first = not asked[0].is_set()
        asked[0 if first else 1].set()
        if first:
            other.start()
            asked[1].wait(0.2)  # in vain
        return describe()

    facts.api = Described(describe_while_others_ask)  # type: ignore[assignment]
    facts.see_same_stream()
    other.join(PATIENCE_S)
    assert not asked[1].is_set()


def test_each_thread_reports_that_the_stream_is_another_one() -> None:
    """Each shard that meets the new stream in a plan is an error of its own, not only the first that asked."""
    stream = scripted_stream()
    facts = StreamFacts("orders", stream, stream.clock)
    facts.begin_plan(stream.created_ms)
    facts.begin_plan(stream.created_ms)
    stream.recreate(1)
    for _ in range(2):
        with pytest.raises(StreamRecreatedError):
            facts.see_same_stream()


@frozen
class Described:
    """A stream of which nothing but its facts is asked."""

    describe: Callable[[], StreamSummary]


def test_an_expired_iterator_of_the_same_stream() -> None:
    """An iterator that expires is renewed, and nothing else comes of it."""
    stream = scripted_stream(1)
    query = Planned([stream])
    stream.put_many(A, 3)
    stream.fail("GetRecords", A, [IteratorExpiredError("Iterator expired", "ExpiredIteratorException")])
    assert query.batches(2) == everything(stream)
