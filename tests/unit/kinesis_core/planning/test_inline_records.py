"""Records that a plan has read, and that go to the task with their range."""

from __future__ import annotations

import pickle
import random

import pytest
from attrs import evolve

from kinesis_core.model import After, At, Offset, ShardRange
from kinesis_core.planning import PlanSettings
from kinesis_core.planning.shard_states import PAGES_BYTES
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from support.planned import Planned
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = (f"shardId-{i:012d}" for i in range(2))
SECRET = b"payload-of-a-user"


def ranges_of_batch(query: Planned) -> list[ShardRange]:
    """Plan a batch, and return its ranges. The query continues after it."""
    start, end = query.start, query.planner.next_offset(query.start)
    query.start = end
    return [found for group in query.planner.range_groups(start, end) for found in group]


def read(stream: ScriptedStream, ranges: list[ShardRange]) -> list[tuple[str, str]]:
    """Read *ranges* as a task does."""
    polling = PollingRangeReader(lambda _: stream, ReadSettings(), random.Random(0))
    pages = read_concurrently([(found,) for found in ranges], polling, 2, stream.clock)
    return [(found.shard_id, record.sequence_number) for found, page in pages for record in page.records]


@pytest.fixture
def query() -> Planned:
    """Return a query that is idle at the tips of two shards."""
    query = Planned([scripted_stream(2)])
    query.batches(2)
    return query


def the_stream(query: Planned) -> ScriptedStream:
    (stream,) = query.streams
    assert isinstance(stream, ScriptedStream)
    return stream


def test_a_few_records_cost_one_call(query: Planned) -> None:
    """The plan reads the records of a small batch, and its task makes no call."""
    stream = the_stream(query)
    put = stream.put_many(A, 5)
    stream.log.clear()
    ranges = pickle.loads(pickle.dumps(ranges_of_batch(query)))  # noqa: S301 # our own, as Spark sends them
    assert read(stream, ranges) == [(A, record.sequence_number) for record in put]
    assert [call.shard_id for call in stream.calls_of("GetRecords")] == [A, B]
    assert not stream.calls_of("GetShardIterator")


def test_they_are_the_users_choice() -> None:
    """Without `inline_records` a range has no records."""
    query = Planned([scripted_stream(1)])
    query.settings = PlanSettings(inline_records=False)
    query.restart()
    query.streams[0].put(A, b"x")
    assert [found.page for found in ranges_of_batch(query)] == [None]


@pytest.mark.parametrize(("share", "is_kept"), [(0.4, True), (1.1, False)])
def test_many_bytes_are_read_by_tasks(query: Planned, share: float, is_kept: bool) -> None:
    """Two shards have half of the room each. A task reads what is more."""
    stream = the_stream(query)
    data = bytes(int(share * PAGES_BYTES / 2))
    put = stream.put_many(A, 1, data=data)
    ranges = ranges_of_batch(query)
    assert [found.page is not None for found in ranges] == [is_kept]
    stream.log.clear()
    assert read(stream, ranges) == [(A, put[0].sequence_number)]
    assert len(stream.calls_of("GetRecords")) == (not is_kept)


def test_a_batch_beside_a_busy_shard(query: Planned) -> None:
    """The records of one shard come with its range, while a task reads those of another one."""
    stream = the_stream(query)
    put = [*stream.put_many(A, 1, data=bytes(PAGES_BYTES)), *stream.put_many(B, 2)]
    ranges = ranges_of_batch(query)
    assert [found.page is not None for found in ranges] == [False, True]
    assert sorted(number for _, number in read(stream, ranges)) == [r.sequence_number for r in put]


def test_a_replay_reads_the_same(query: Planned) -> None:
    """A batch that is planned by its offsets alone, in another process, has the same records, by calls."""
    stream, start = the_stream(query), query.start
    stream.put_many(A, 3)
    kept = ranges_of_batch(query)
    end, found = query.start, read(stream, kept)
    query.restart()
    again = [r for group in query.planner.range_groups(*_through_text(start, end)) for r in group]
    assert again == kept
    assert [r.page for r in again] == [None]
    assert read(stream, again) == found


def test_a_plan_that_was_thrown_away(query: Planned) -> None:
    """The records of a later plan from the same start do not go with an earlier end."""
    stream, start = the_stream(query), query.start
    stream.put_many(A, 3)
    end = query.planner.next_offset(start)
    stream.put_many(A, 1)
    stream.clock.sleep(1)
    query.planner.next_offset(start)
    (found,) = (r for group in query.planner.range_groups(start, end) for r in group)
    assert found.page is None


def test_a_later_start_of_the_same_end(query: Planned) -> None:
    """The records of a plan from a later start do not go with a range that begins before them, whose end they share."""
    stream, start = the_stream(query), query.start
    stream.put_many(A, 2)
    ranges_of_batch(query)
    later = query.start
    stream.put_many(A, 3)
    ends = []
    for begin in (start, later):
        stream.clock.sleep(1)
        ends.append(query.planner.next_offset(begin))
    (whole,) = (r for group in query.planner.range_groups(start, ends[0]) for r in group)
    (rest,) = (r for group in query.planner.range_groups(later, ends[1]) for r in group)
    assert (whole.end, whole.page is None) == (rest.end, rest.page is not None)
    assert len(read(stream, [whole])) == 5


def test_a_part_of_a_range(query: Planned) -> None:
    """A range that was narrowed since has the records that are left in it, as often as it is read."""
    stream = the_stream(query)
    put = stream.put_many(A, 5)
    (whole,) = ranges_of_batch(query)
    part = evolve(whole, start=At(put[1].number), end=After(put[3].number))
    for _ in range(2):
        assert read(stream, [part]) == [(A, record.sequence_number) for record in put[1:4]]
    assert len(read(stream, [whole])) == 5


def test_a_task_that_makes_no_call_uses_no_quota(query: Planned) -> None:
    """While records come with their ranges, a shard may be planned twice as often as with a call of each task."""
    stream, batches = the_stream(query), 0
    started_s = stream.clock.now
    while stream.clock.now < started_s + 20:
        stream.put(A, b"x")
        stream.clock.sleep(0.05)
        batches += bool(ranges_of_batch(query))
    assert batches == pytest.approx(20 * 2.5, abs=3)


def test_no_payload_in_texts(query: Planned) -> None:
    """The text of a range, as it may come into an error or a log, has no payload."""
    the_stream(query).put(A, SECRET)
    ranges = ranges_of_batch(query)
    assert ranges[0].page is not None
    assert SECRET.decode() not in repr(ranges)


def _through_text(*offsets: Offset) -> list[Offset]:
    return [Offset.from_json(offset.to_json()) for offset in offsets]
