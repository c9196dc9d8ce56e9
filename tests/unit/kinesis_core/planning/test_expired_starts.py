"""A range of time of which a part has left the stream is never read short without a word."""

from __future__ import annotations

import pytest

from kinesis_core.errors import DataLossError, OptionError
from kinesis_core.model import (
    CLOCK_MARGIN_MS,
    AtTimestamp,
    EndingPosition,
    ForeignCheckpoint,
    Latest,
    PerShard,
    PerStream,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.shards import MARGIN_MS
from support.planned import Planned, Read, everything
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = "shardId-000000000000", "shardId-000000000001"
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
ASKED_MS = 1_790_000_000_000
ASKED, AN_HOUR_LATER = AtTimestamp(ASKED_MS), AtTimestamp(ASKED_MS + HOUR_S * 1000)
STARTS: list[StartingPosition] = [
    ASKED,
    PerShard({A: ASKED}),
    PerStream({"orders": ASKED}),
    ForeignCheckpoint({A: ASKED}),
]


def hour(expired_minutes: int, shards: int = 1) -> ScriptedStream:
    """Return a stream with a record a minute for an hour from ASKED on in its first shard, of which the first ones have expired."""
    stream = scripted_stream(shards)
    stream.forgets = True
    stream.put_many(A, 60, MINUTE_S)
    stream.clock.sleep(DAY_S - HOUR_S + expired_minutes * MINUTE_S - 30)
    stream.forget()
    return stream


def left(stream: ScriptedStream) -> Read:
    """Return the records that have not expired."""
    return everything(stream, A)[stream.shards[A].trimmed :]


def query_on(stream: ScriptedStream, position: StartingPosition = ASKED, *, fails: bool = True) -> Planned:
    return Planned([stream], position, PlanSettings(fail_on_data_loss=fails))


def read_to(query: Planned, end: EndingPosition) -> Read:
    return query.read(query.start, query.planner.end_offset(query.start, end, query.position))


@pytest.mark.parametrize("position", STARTS)
@pytest.mark.parametrize("end", [AN_HOUR_LATER, Latest()])
def test_an_hour_of_which_half_has_expired(position: StartingPosition, end: EndingPosition) -> None:
    """A batch read of it is an error that names what was asked for, what is left, the retention, and what to do."""
    query = query_on(hour(30), position)
    said = (
        r"^'start' asks for the records since 2026-09-21 14:13:20 UTC\. "
        r"Those that arrived before 2026-09-21 14:43:5\d UTC have expired, or may have: the retention is 24 h\. "
        r"Start at TRIM_HORIZON, or at that time or later\. Or set fail_on_data_loss=False .*\[stream=orders shard="
    )
    with pytest.raises(DataLossError, match=said):
        read_to(query, end)


@pytest.mark.parametrize("position", STARTS)
@pytest.mark.parametrize("expired", [1, 30, 59])
def test_what_is_left_is_read_on_request(
    position: StartingPosition, expired: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With fail_on_data_loss=False a warning says what has expired, and all that is left is read, whatever the margin is."""
    stream = hour(expired)
    query = query_on(stream, position, fails=False)
    read = read_to(query, AN_HOUR_LATER)
    assert read == left(stream)
    assert len(read) == 60 - expired
    (line,) = [record for record in caplog.records if "start.expired" in record.message]
    assert line.levelname == "WARNING"
    facts = line.__dict__["context"]
    assert f"2026-09-21 {14 + (13 + expired) // 60}:{(13 + expired) % 60}:50 UTC" <= facts.pop("left")
    assert facts == {"stream": "orders", "asked": "2026-09-21 14:13:20 UTC", "retention_hours": "24"}
    assert "data.lost" not in caplog.text
    assert query.planner.losses() == {"orders": 1}


def test_an_hour_that_has_expired_wholly(caplog: pytest.LogCaptureFixture) -> None:
    """No row of it is left: an error, or a warning and no rows."""
    with pytest.raises(DataLossError, match="the retention is 24 h"):
        read_to(query_on(hour(90)), AN_HOUR_LATER)
    assert read_to(query_on(hour(90), fails=False), AN_HOUR_LATER) == []
    assert caplog.text.count("start.expired") == 1


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("position", STARTS)
def test_a_query_from_a_time_that_has_expired(
    position: StartingPosition, bounded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The first plan of a streaming query says it as well, and no second plan says it again."""
    query = query_on(hour(30), position)
    for _ in range(2):
        with pytest.raises(DataLossError, match="Start at TRIM_HORIZON"):
            query.batch(bounded=bounded)
    stream = hour(30)
    query = query_on(stream, position, fails=False)
    assert query.batches(2, bounded=bounded) == left(stream)
    assert caplog.text.count("start.expired") == 1


def test_each_start_that_has_expired_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Shards that start at different times have a warning for each time, not for each shard."""
    stream = hour(30, shards=4)
    third, fourth = "shardId-000000000002", "shardId-000000000003"
    later = AtTimestamp(ASKED_MS + 1)
    query = query_on(stream, PerShard({A: ASKED, B: ASKED, third: later, fourth: later}), fails=False)
    query.batch()
    assert caplog.text.count("start.expired") == 2


@pytest.mark.parametrize("minutes", [2, 4, 24 * 60])
@pytest.mark.parametrize("is_read_at_once", [True, False])
def test_a_time_within_the_retention_skips_nothing(minutes: int, is_read_at_once: bool) -> None:
    """Records that are about to leave are read like all others: only TRIM_HORIZON leaves them out."""
    stream = hour(30)
    horizon_ms = stream.now_ms() - DAY_S * 1000
    query = query_on(stream, AtTimestamp(horizon_ms + minutes * MINUTE_S * 1000))
    read = read_to(query, Latest()) if is_read_at_once else query.batch()
    assert read == left(stream)[minutes:]


def test_the_oldest_record_has_its_margin() -> None:
    """A start at TRIM_HORIZON skips what leaves within the margin, and promises nothing before that."""
    stream = hour(30)
    assert read_to(query_on(stream, TrimHorizon()), Latest()) == left(stream)[5:]
    assert read_to(query_on(hour(90), TrimHorizon()), Latest()) == []


def test_records_that_expire_before_the_first_plan() -> None:
    """A start within the retention promises all that follows it. What has expired until the plan is an error."""
    stream = hour(0)
    query = query_on(stream, AtTimestamp(ASKED_MS + 10 * MINUTE_S * 1000))
    stream.clock.sleep(30 * MINUTE_S)
    with pytest.raises(DataLossError, match="may have expired before they were read"):
        read_to(query, Latest())


def test_a_stream_that_is_younger_than_the_time() -> None:
    """Nothing has expired of a stream that was created within the retention, whatever time is asked for."""
    stream = scripted_stream(2)
    stream.forgets, stream.created_ms = True, stream.now_ms()
    stream.put_many(A, 10, MINUTE_S)
    stream.clock.sleep(23 * HOUR_S)
    for asked_ms in (0, stream.created_ms - DAY_S * 1000, stream.created_ms):
        assert read_to(query_on(stream, AtTimestamp(asked_ms)), Latest()) == everything(stream)


def test_a_stream_created_between_the_time_and_the_oldest_record() -> None:
    """A stream that is younger than the time asked for, and older than its retention, has lost its first records."""
    stream = hour(30)
    stream.created_ms = ASKED_MS
    with pytest.raises(DataLossError, match="since 2026-09-21 13:13:20 UTC"):
        read_to(query_on(stream, AtTimestamp(ASKED_MS - HOUR_S * 1000)), Latest())


def test_older_records_prove_that_nothing_has_expired(caplog: pytest.LogCaptureFixture) -> None:
    """Kinesis may keep records for longer than the retention. What it kept is no loss."""
    stream = hour(30)
    stream.shards[A].trimmed, stream.forgets = 9, False
    query = query_on(stream, AtTimestamp(ASKED_MS + 10 * MINUTE_S * 1000))
    assert read_to(query, Latest()) == everything(stream)[10:]
    assert caplog.text == ""


def test_a_time_of_one_shard_says_nothing_of_another() -> None:
    """Shards that start elsewhere are read, and so is a shard that a later time is asked of."""
    stream = hour(30, shards=2)
    stream.put_many(B, 3)
    horizon_ms = stream.now_ms() - DAY_S * 1000
    recent = AtTimestamp(horizon_ms + HOUR_S * 1000)
    assert query_on(stream, PerShard({A: recent, B: recent})).batch() == everything(stream, B)
    with pytest.raises(DataLossError, match=rf"shard={A}\]"):
        query_on(stream, PerShard({A: ASKED, B: recent})).batch()


def test_a_start_that_expires_while_the_query_is_down() -> None:
    """A checkpoint that still has the time of the start is no start: records were lost."""
    stream = hour(0)
    query = query_on(stream, AtTimestamp(ASKED_MS + 2 * MINUTE_S * 1000))
    stream.clock.sleep(HOUR_S)
    query.restart()
    with pytest.raises(
        DataLossError, match=rf"^Shard {A} of orders: .*may have expired before they were read"
    ):
        query.batch()


ENDS_TO_COME: list[tuple[EndingPosition, str]] = [
    (AtTimestamp(ASKED_MS + 2 * DAY_S * 1000), ""),
    (PerShard({A: AtTimestamp(ASKED_MS + 2 * DAY_S * 1000)}), f" shard={A}"),
]


@pytest.mark.parametrize(("end", "where"), ENDS_TO_COME)
def test_an_end_in_the_future_is_refused(end: EndingPosition, where: str) -> None:
    """It would mean now without saying so. The error names the time and the clock of the service."""
    query = query_on(hour(0), AN_HOUR_LATER)
    said = (
        r"'end' is 2026-09-23 14:13:20 UTC, "
        rf"while the service's clock is at 2026-09-22 14:12:50 UTC\. Use a time in the past\. .*\[stream=orders{where}\]"
    )
    with pytest.raises(OptionError, match=said):
        query.planner.end_offset(query.start, end)


@pytest.mark.parametrize(("position", "where"), ENDS_TO_COME)
def test_a_start_in_the_future_is_refused(position: StartingPosition, where: str) -> None:
    """A start at a later time is refused, also where it is that of one shard."""
    with pytest.raises(OptionError, match=rf"'start' is .*\. Use a time in the past\..*orders{where}\]"):
        query_on(hour(0), position)


def test_clocks_differ_a_little() -> None:
    """A time that is in the future by less than the clock is known to is accepted, as a start and as an end."""
    stream = hour(0)
    soon = AtTimestamp(stream.now_ms() + CLOCK_MARGIN_MS)
    query = query_on(stream, AtTimestamp(stream.now_ms()))
    assert read_to(query, soon) == []
    query_on(stream, AtTimestamp(stream.now_ms() + CLOCK_MARGIN_MS))


def test_the_time_that_the_error_names_is_a_start() -> None:
    """The error names the first time that is certain to be whole, with the margin for inexact clocks."""
    stream = hour(30)
    safe_ms = stream.now_ms() - DAY_S * 1000 + MARGIN_MS
    assert read_to(query_on(stream, AtTimestamp(safe_ms)), Latest()) == left(stream)[1:]


@pytest.mark.parametrize("margin_s", [0, 1, 300])
def test_the_oldest_record_promises_nothing(margin_s: float) -> None:
    """What expires between a start at TRIM_HORIZON and its first plan is no loss, whatever the margin is."""
    stream = hour(30)
    query = Planned([stream], TrimHorizon(), PlanSettings(trim_horizon_margin_s=margin_s))
    stream.clock.sleep(10 * MINUTE_S)
    assert query.batch() == left(stream)
    assert len(left(stream)) == 20


def test_a_first_batch_is_replayed_after_its_start_has_expired() -> None:
    """Spark asks for the start again when it replays the first batch, whose records are all there: that is no loss."""
    stream = hour(0)
    stream.shards[A].records[:10] = []
    query = query_on(stream, AtTimestamp(ASKED_MS + 2 * MINUTE_S * 1000))
    end = query.planner.next_offset(query.start)
    read = query.read(query.start, end)
    stream.clock.sleep(5 * MINUTE_S)
    again = query_on(stream, AtTimestamp(ASKED_MS + 2 * MINUTE_S * 1000))
    assert again.read(again.start, end) == read == left(stream)
    again.start = end
    assert again.batch() == []


@pytest.mark.parametrize("limit", [7, 1000])
def test_available_now_from_a_time_that_has_expired(limit: int, caplog: pytest.LogCaptureFixture) -> None:
    """A run that ends at what was there says it once, and reads what is left in as many batches as it takes."""
    query = query_on(hour(30))
    query.planner.fix_targets()
    with pytest.raises(DataLossError, match="Start at TRIM_HORIZON"):
        query.batch()
    stream = hour(30)
    query = Planned([stream], ASKED, PlanSettings(Limits(max_records=limit), fail_on_data_loss=False))
    query.planner.fix_targets()
    read: Read = []
    while batch := query.batch():
        read += batch
    assert read == left(stream)
    assert caplog.text.count("start.expired") == 1
    assert "data.lost" not in caplog.text
