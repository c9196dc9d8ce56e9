"""Shards that bring empty pages for a while, although nothing has left them: the planner waits, says so, and loses nothing."""

from __future__ import annotations

import random

import pytest

from kinesis_core.errors import DataLossError, UnavailableError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Latest,
    Offset,
    PerShard,
    ShardOffset,
    StartingPosition,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning import Limits, PlanSettings, ShardPages
from kinesis_core.planning.skew import HELD_S
from kinesis_core.shards import LONGEST_S, STALLED_PAGES
from support.fake_stream import Mood
from support.one_shard import OneShard
from support.planned import Planned, Read, everything
from support.scripted_stream import ITERATOR_LIFE_S, ScriptedStream, scripted_stream

A, B = "shardId-000000000000", "shardId-000000000001"
HOUR_S = 3600
STALL_S = 300
either = pytest.mark.parametrize("fails", [True, False])


def query_on(
    stream: ScriptedStream, *, fails: bool, crosses: bool = False, records: int | None = None
) -> Planned:
    limits = Limits(max_records=records)
    settings = PlanSettings(limits, fail_on_data_loss=fails, first_plan_crosses_gaps=crosses)
    return Planned([stream], settings=settings)


def read_for(query: Planned, seconds: float, *, bounded: bool = True) -> Read:
    """Return what plans bring in a time, one every 0.1 s."""
    read: Read = []
    until_s = query.clock.now + seconds
    while query.clock.now < until_s:
        read += query.batch(bounded=bounded)
        query.clock.sleep(0.1)
    return read


def read_once(
    *, fails: bool, retention_hours: int = 168, age_h: float = 0.2
) -> tuple[ScriptedStream, Planned, Read]:
    """Return a stream of which 1,000 records were read, the last one *age_h* hours ago, and the query that read them."""
    stream = scripted_stream(1)
    stream.retention_hours = retention_hours
    query = query_on(stream, fails=fails)
    stream.put_many(A, 1000)
    stream.clock.sleep(2)
    read = query.batch()
    stream.clock.sleep(age_h * HOUR_S)
    return stream, query, read


@either
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("age_h", [0.2, 30])
def test_no_record_comes_twice_after_a_stall(
    fails: bool, bounded: bool, age_h: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Records come once each when a stall passes, be the last one read young or older than a day."""
    stream, query, read = read_once(fails=fails, age_h=age_h)
    stream.put(A, b"new")
    stream.stall(A, 30)
    read += read_for(query, 60, bounded=bounded)
    assert read == everything(stream)
    assert "data.lost" not in caplog.text


@either
def test_a_query_that_starts_in_a_stall(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A restarted query knows less, and neither loses nor repeats anything."""
    stream, query, read = read_once(fails=fails, age_h=100)
    stream.put(A, b"new")
    stream.stall(A, STALL_S)
    query.restart()
    read += read_for(query, STALL_S + 30)
    assert read == everything(stream)
    assert "data.lost" not in caplog.text


@either
@pytest.mark.parametrize("lag_ms", [1, 90_000, 168 * 3_600_000])
@pytest.mark.parametrize(
    "start", [TrimHorizon(), AtTimestamp(1_789_900_000_000), AtTimestamp(1_790_000_000_000)]
)
def test_a_first_plan_in_a_stall(
    start: StartingPosition, lag_ms: int, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no record is known yet, nothing is lost either, whatever lag the pages have."""
    stream = scripted_stream(1)
    stream.retention_hours = 168
    stream.put_many(A, 10, every_s=1)
    query = Planned([stream], start, PlanSettings(fail_on_data_loss=fails, first_plan_crosses_gaps=False))
    stream.stall(A, 200, lag_ms)  # TRIM_HORIZON starts 5 minutes after the oldest records
    assert read_for(query, 230) == everything(stream)
    assert "data.lost" not in caplog.text


@pytest.mark.parametrize("kind", [At, After])
def test_an_offset_without_a_time_in_a_stall(
    kind: type[At | After], caplog: pytest.LogCaptureFixture
) -> None:
    """A record of unknown age is looked for, and found once the stall has passed."""
    stream = scripted_stream(1)
    put = stream.put_many(A, 10)
    query = query_on(stream, fails=True)
    start = ShardOffset(kind(put[4].number))
    query.start = Offset({"orders": StreamOffset(stream.created_ms, {A: start})})
    stream.stall(A, STALL_S)
    assert read_for(query, STALL_S + 30) == everything(stream)[4 if kind is At else 5 :]
    assert "data.lost" not in caplog.text


@pytest.mark.parametrize("kind", [TrimHorizon, After])
def test_a_stall_that_ends_while_one_looks(
    kind: type[TrimHorizon | After], caplog: pytest.LogCaptureFixture
) -> None:
    """That the oldest record can be read again is no sign that records before it were lost, and the named one may go alone."""
    for tenths in range(80, 260, 2):
        stream = scripted_stream(1)
        put = stream.put_many(A, 10)
        query = query_on(stream, fails=True, crosses=tenths % 4 == 0)
        if kind is After:
            stream.trim(A, 5)
            start = ShardOffset(After(put[4].number))
            query.start = Offset({"orders": StreamOffset(stream.created_ms, {A: start})})
        stream.stall(A, tenths / 10)
        assert read_for(query, 40) == everything(stream)[5 if kind is After else 0 :]
    assert "data.lost" not in caplog.text


def test_a_stall_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """A warning names the shard, for how long, and how many pages were empty. Plans do not repeat it."""
    stream, query, _ = read_once(fails=True)
    stream.stall(A, 205)
    read_for(query, 250)
    lines = [r.getMessage() for r in caplog.records if "shard.stalled" in r.getMessage()]
    assert len(lines) == 4
    assert f"stream=orders shard={A} for_s=1" in lines[0]
    assert "pages=50" in lines[0]


def test_a_second_stall_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    """Time without records counts from the last page that brought some."""
    stream, query, _ = read_once(fails=True)
    for _ in range(4):
        stream.stall(A, 0.5 * LONGEST_S)
        read_for(query, 0.5 * LONGEST_S)
        stream.put(A, b"new")
        assert len(read_for(query, 20)) == 1
    assert caplog.text.count("for_s=1") >= 4


@either
def test_a_long_stall_is_an_error(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    """It says what happened and what to do, each time until it passes, and is never a loss. Then reading continues."""
    stream, query, read = read_once(fails=fails)
    stream.put(A, b"new")
    stream.stall(A, LONGEST_S + 100)
    said = rf"^Shard {A} of orders: .*only empty pages after AFTER {stream.shards[A].records[999].number} for 600 s.*Nothing is lost.*shard={A}"
    for _ in range(2):
        with pytest.raises(UnavailableError, match=said) as raised:
            read_for(query, LONGEST_S + 50)
        assert raised.value.code == "NoProgress"
    stream.clock.sleep(100)
    assert read + read_for(query, 10) == everything(stream)
    assert "data.lost" not in caplog.text


def test_rare_plans_are_no_long_stall() -> None:
    """Two short stalls an hour apart, each at the time of a plan, are not one of an hour."""
    stream, query, read = read_once(fails=True, retention_hours=24)
    stream.put(A, b"new")
    for _ in range(6):
        stream.stall(A, 30)
        read += read_for(query, 25)
        stream.clock.sleep(HOUR_S)
    assert read + read_for(query, 10) == everything(stream)


def test_other_shards_are_read_during_a_stall() -> None:
    """A stalled shard holds up no other one for longer than any shard that brings nothing."""
    stream = scripted_stream(2)
    query = query_on(stream, fails=True)
    stream.put_many(A, 1)
    query.batches(2)
    stream.put_many(A, 1)
    stream.stall(A, STALL_S)
    stream.clock.sleep(20)
    put, held_s = stream.put(B, b"x"), HELD_S + 10
    assert read_for(query, held_s) == [(B, put.sequence_number)]
    for _ in range(int((STALL_S - held_s) / 10) - 4):
        put = stream.put(B, b"x")
        assert read_for(query, 10) == [(B, put.sequence_number)]


def stalled_amid(calls: int) -> tuple[ScriptedStream, Planned]:
    """Return a stream that stalls after so many calls of the next plan, and a query on it that may plan only once."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, every_s=1)
    query = query_on(stream, fails=True, crosses=True, records=4)
    stream.clock.sleep(120)
    stream.stall_at_call = len(stream.log) + calls
    return stream, query


@pytest.mark.parametrize(
    ("end", "count"), [(Latest(), 10), (AtTimestamp(1_790_000_007_000), 7), ("record", 7)]
)
@pytest.mark.parametrize("calls", range(14))
def test_a_bounded_read_waits(end: StartingPosition | str, count: int, calls: int) -> None:
    """A batch up to now, to a time or to a record has all of its records, wherever in the plan the shard stalls."""
    stream, query = stalled_amid(calls)
    record = At(stream.shards[A].records[7].number)
    position = PerShard({A: record}) if isinstance(end, str) else end
    planned = query.planner.end_offset(query.start, position)
    assert query.read(query.start, planned) == everything(stream)[:count]


@pytest.mark.parametrize("end", [Latest(), AtTimestamp(1_790_000_021_000)])
@pytest.mark.parametrize("calls", range(14))
def test_a_bounded_read_waits_for_the_end_of_a_shard(end: StartingPosition, calls: int) -> None:
    """The children of a closed shard are part of it, also where its end comes on a page of its own, after a stall."""
    stream, query = stalled_amid(calls)
    stream.mood = Mood(end_page_of_its_own=True)
    stream.clock.now = 1_790_000_010.0
    children = stream.split(A)
    put = [stream.put(child, b"x").sequence_number for child in children for _ in range(3)]
    stream.clock.sleep(120)
    planned = query.planner.end_offset(query.start, end)
    assert {number for _, number in query.read(query.start, planned)} >= {*put}


@pytest.mark.parametrize("calls", range(14))
def test_a_run_waits(calls: int) -> None:
    """A run of AvailableNow reads all that was there, wherever in its plans the shard stalls."""
    stream, query = stalled_amid(calls)
    query.planner.fix_targets()
    assert query.batches(4) == everything(stream)


@pytest.mark.parametrize("calls", [STALLED_PAGES + 2, STALLED_PAGES + 3])
def test_the_first_record_after_an_expired_one_is_waited_for(calls: int) -> None:
    """A stall between the pages that show the oldest record is no end of the shard, so a batch that ends there does not go further."""
    one = OneShard()
    put = one.put(10)
    one.stream.is_stuck_when_trimmed = True
    one.stream.trim(one.shard_id, 5)
    one.stream.stall_at_call = calls
    assert one.state.first_page(At(put[2].number)).records == [put[5]]


@pytest.mark.parametrize("end", [Latest(), AtTimestamp(1_790_000_007_000)])
def test_a_bounded_read_does_not_wait_for_ever(end: StartingPosition) -> None:
    """It is an error, and no short batch."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, every_s=1)
    query = query_on(stream, fails=False, crosses=True)
    stream.stall(A, 10 * LONGEST_S)
    with pytest.raises(UnavailableError, match="only empty pages"):
        query.planner.end_offset(query.start, end)


@pytest.mark.parametrize("is_stuck", [True, False])
def test_records_that_left_during_a_stall_are_a_loss(is_stuck: bool) -> None:
    """Once the shard can be read again, what has expired meanwhile is found, and what was read before does not come again."""
    for fails in (True, False):
        stream, query, read = read_once(fails=fails, retention_hours=24, age_h=0)
        stream.is_stuck_when_trimmed = is_stuck
        stream.put_many(A, 20)
        stream.clock.sleep(25 * HOUR_S)
        stream.put_many(A, 5)
        query.restart()
        stream.stall(A, STALL_S)
        assert read_for(query, STALL_S - 10) == []
        stream.trim(A, 1010)
        if fails:
            with pytest.raises(DataLossError, match="retention 24 h"):
                read_for(query, 60)
        else:
            assert read + read_for(query, 60) == everything(stream)[:1000] + everything(stream)[1010:]


def test_nothing_that_was_read_comes_again_after_a_loss() -> None:
    """What a loss left is read from the oldest record on, without those before the cut: they may be there again."""
    stream, query, read = read_once(fails=False, retention_hours=24, age_h=0)
    stream.clock.sleep(25 * HOUR_S)
    stream.put_many(A, 5)
    stream.trim(A, 1002)
    query.restart()
    planned = query.planner.next_offset(query.start)
    assert planned != query.start
    stream.trim(A, 0)
    stream.clock.sleep(ITERATOR_LIFE_S + 1)
    assert read + read_for(query, 10) == everything(stream)


def test_a_lease_continues_where_it_stopped() -> None:
    """A consumer that resumes amid an aggregate or at a record during a stall neither skips nor repeats anything."""
    stream = scripted_stream(1)
    put = stream.put_many(A, 3)
    pages = ShardPages.of("orders", stream, PlanSettings(), stream.clock, random.Random(0))
    pages.begin()
    stream.stall(A, STALL_S)
    assert pages.resume(A, put[1].number, 0, None) == ShardOffset(At(put[1].number), put[1].arrived_ms)


def test_a_start_at_a_record_waits() -> None:
    """A query that starts at a record during a stall finds the record, with its time."""
    stream = scripted_stream(1)
    put = stream.put_many(A, 3)
    stream.stall(A, STALL_S)
    query = Planned([stream], PerShard({A: At(put[1].number)}))
    assert query.start.streams["orders"].shards[A] == ShardOffset(At(put[1].number), put[1].arrived_ms)
    assert query.batches(3) == everything(stream)[1:]
