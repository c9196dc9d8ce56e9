"""A retention that somebody raises or lowers hides no loss: not between two runs of a query, and not during one."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.errors import DataLossError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Latest,
    Offset,
    ShardOffset,
    StartingPosition,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning import PlanSettings
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream, throttle

A, B = "shardId-000000000000", "shardId-000000000001"
HOUR_S = 3600


def forgetting(shards: int = 1, hours: int = 24) -> ScriptedStream:
    """Return a stream that records leave at the end of their retention."""
    stream = scripted_stream(shards)
    stream.forgets, stream.retention_hours = True, hours
    stream.clock.sleep(5)
    return stream


def lost_while_down(*, left: int, fails: bool = True) -> tuple[ScriptedStream, Planned]:
    """Return a query that was down for longer than the retention, and its stream with *left* of the records that it has not read."""
    stream = forgetting()
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=fails))
    stream.put_many(A, 10)
    stream.clock.sleep(2)
    assert query.batch() == everything(stream)
    stream.put_many(A, 100)
    stream.clock.sleep(30 * HOUR_S)
    stream.put_many(A, left)
    query.restart()
    return stream, query


def losses(caplog: pytest.LogCaptureFixture) -> list[dict[str, str]]:
    return [record.__dict__["context"] for record in caplog.records if "data.lost" in record.message]


def shard_json(query: Planned, shard_id: str = A) -> dict[str, Any]:
    shards: dict[str, dict[str, Any]] = query.start.to_json()["streams"]["orders"]["shards"]
    return shards[shard_id]


@pytest.mark.parametrize("left", [5, 0])
@pytest.mark.parametrize("is_seen_first", [False, True])
def test_a_retention_raised_after_a_loss(left: int, is_seen_first: bool) -> None:
    """Expired records do not come back: the query stops however long the retention is when it starts again, and each time."""
    stream, query = lost_while_down(left=left)
    if is_seen_first:
        with pytest.raises(DataLossError, match="retention 24 h"):
            query.batch()
    stream.retain(168)
    for _ in range(2):
        stream.clock.sleep(60)
        query.restart()
        with pytest.raises(DataLossError, match=r"age 30(\.\d)? h, retention 24 h"):
            query.batch()


@pytest.mark.parametrize("left", [5, 0])
def test_continuing_after_the_retention_was_raised(left: int, caplog: pytest.LogCaptureFixture) -> None:
    """With fail_on_data_loss off the loss is logged once, and what is left is read."""
    stream, query = lost_while_down(left=left, fails=False)
    stream.retain(168)
    assert query.batches(3) == everything(stream)[110:]
    query.restart()
    assert query.batches(3) == []
    assert caplog.text.count("data.lost") == 1


def test_the_error_does_not_say_that_a_longer_retention_helps() -> None:
    """The error says what a longer retention does and does not do, and how to continue."""
    _, query = lost_while_down(left=5)
    with pytest.raises(
        DataLossError, match=r"Expired records do not come back: .* fail_on_data_loss=False"
    ) as stopped:
        query.batch()
    assert "Raise" not in str(stopped.value)


@pytest.mark.parametrize("position", [TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
@pytest.mark.parametrize("left", [5, 0])
def test_a_shard_seen_empty_and_a_retention_raised(position: StartingPosition, left: int) -> None:
    """A cut without a record is judged by the retention that the offset carries, where that is the shorter one."""
    stream = forgetting()
    query = Planned([stream], position)
    for _ in range(10):
        stream.clock.sleep(HOUR_S)
        query.batch()
    assert shard_json(query)["empty_until"]
    stream.put_many(A, 10)
    stream.clock.sleep(30 * HOUR_S)
    stream.put_many(A, left)
    stream.retain(168)
    query.restart()
    with pytest.raises(DataLossError, match=r"retention 24 h[)]"):
        query.batch()


def test_a_shard_seen_empty_by_a_longer_retention() -> None:
    """A shard that was silent for longer than a day is in no doubt where records are kept for a week."""
    stream = forgetting(hours=168)
    query = Planned([stream])
    for _ in range(60):
        stream.clock.sleep(HOUR_S)
        assert query.batch() == []
    stream.clock.sleep(100 * HOUR_S)
    record = stream.put(A, b"x")
    query.restart()
    assert query.batch() == [(A, record.sequence_number)]


@pytest.mark.parametrize("left", [5, 0])
def test_a_retention_lowered_and_raised_between_two_runs(left: int) -> None:
    """Nobody saw the shorter retention. That the record of the cut is gone shows it."""
    stream = forgetting(hours=168)
    query = Planned([stream])
    stream.put_many(A, 10)
    stream.clock.sleep(2)
    query.batch()
    stream.put_many(A, 100)
    stream.clock.sleep(30 * HOUR_S)
    stream.retain(24)
    stream.retain(168)
    stream.put_many(A, left)
    query.restart()
    with pytest.raises(DataLossError, match=r"age 30 h, retention 168 h, but that record has expired[)]"):
        query.batch()


@pytest.mark.parametrize("left", [5, 0])
def test_the_next_record_has_expired(left: int) -> None:
    """A cut before a record that was seen names what is lost, whatever the retention was and is."""
    stream = forgetting(hours=168)
    record = stream.put_many(A, 10)[4]
    query = Planned([stream])
    start = ShardOffset(At(record.number), record.arrived_ms)
    query.start = Offset({"orders": StreamOffset(stream.created_ms, {A: start}, 168)})
    stream.clock.sleep(30 * HOUR_S)
    stream.retain(24)
    stream.retain(168)
    stream.put_many(A, left)
    with pytest.raises(DataLossError, match=f"record {record.number} expired before it was read"):
        query.batch()


@pytest.mark.parametrize(("hours", "is_loss"), [(24, True), (168, False)])
def test_an_offset_of_an_older_release(hours: int, is_loss: bool) -> None:
    """Its time may be the arrival of a record or another one, and it has no retention: today's retention judges, as before."""
    stream, query = lost_while_down(left=5)
    streams = query.start.streams
    query.start = Offset({"orders": StreamOffset(stream.created_ms, streams["orders"].shards)})
    stream.retain(hours)
    if is_loss:
        with pytest.raises(DataLossError, match=r"age 30(\.\d)? h, retention 24 h"):
            query.batch()
        return
    assert query.batch() == everything(stream)[110:]


def test_an_offset_of_an_older_release_is_continued() -> None:
    """Where another shard moves on, a time that may be either is kept as one that is no arrival."""
    stream = forgetting(2)
    put = stream.put(A, b"x")
    stream.put(B, b"x")
    query = Planned([stream])
    query.batch()
    shards = query.start.streams["orders"].shards
    query.start = Offset({"orders": StreamOffset(stream.created_ms, shards)})
    query.restart()
    stream.put(B, b"x")
    query.batch()
    assert shard_json(query) == {"AFTER": put.sequence_number, "empty_until": put.arrived_ms}
    assert "arrived" in shard_json(query, B)
    assert query.start.streams["orders"].kept_hours == 24


@pytest.mark.parametrize("is_anew", [False, True])
def test_a_shard_that_waits_while_the_retention_is_raised(
    is_anew: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch of other shards saves the retention that judges this one, also for the next run."""
    stream = forgetting(2)
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=False, max_shard_skew_s=None))
    stream.put(B, b"x")
    for _ in range(3):
        stream.clock.sleep(HOUR_S)
        query.batch()
    assert shard_json(query)["empty_until"]
    stream.put_many(A, 10)
    stream.clock.sleep(25 * HOUR_S)
    left = [stream.put(shard_id, b"x").sequence_number for shard_id in (A, B)]
    stream.retain(168)
    query.restart()
    stream.fail("GetShardIterator", A, [throttle()])
    assert query.batch() == [(B, left[1])]
    assert query.start.streams["orders"].kept_hours == 24
    assert f"shard={A}" not in caplog.text
    if is_anew:
        query.restart()
    assert query.batches(3) == [(A, left[0])]
    assert any(lost["shard"] == A and "retention 24 h" in lost["reason"] for lost in losses(caplog))


def test_a_retention_lowered_and_raised_while_a_query_runs() -> None:
    """A shorter retention that a running query has seen counts, also once it is over."""
    stream = forgetting(2, hours=168)
    query = Planned([stream], settings=PlanSettings(max_shard_skew_s=None))
    query.batch()
    stream.clock.sleep(HOUR_S)
    query.batch()
    assert "empty_until" in shard_json(query)
    stream.put_many(A, 5)
    for hours in (24, 24, 24, 24, 24, 24, 168):
        stream.clock.sleep(5 * HOUR_S)
        record = stream.put(B, b"x")
        stream.fail("GetShardIterator", A, [throttle()])
        stream.retain(hours)
        assert query.batch() == [(B, record.sequence_number)]
    stream.clock.sleep(60)  # the pause after so many throttles
    with pytest.raises(DataLossError, match=f"retention 24 h.*shard={A}"):
        query.batches(3)


def test_a_raised_retention_counts_in_time() -> None:
    """The offset carries one hour more with each hour since, up to the new retention."""
    stream = forgetting()
    query = Planned([stream])
    query.batch()
    stream.clock.sleep(HOUR_S)
    stream.retain(168)
    saved = []
    for _ in range(170):
        stream.clock.sleep(HOUR_S)
        query.batch()
        saved.append(query.start.streams["orders"].kept_hours or 0)
    assert saved == sorted(saved)
    assert saved[-1] == 168
    stream.clock.sleep(100 * HOUR_S)
    record = stream.put(A, b"x")
    query.restart()
    assert query.batch() == [(A, record.sequence_number)]


def test_a_named_record_that_is_left() -> None:
    """However old the offset, and whatever happened to the retention: a record that is there shows that nothing has left."""
    stream = forgetting(hours=168)
    query = Planned([stream])
    stream.put_many(A, 3)
    stream.clock.sleep(2)
    query.batch()
    assert shard_json(query)["arrived"] == stream.shards[A].records[2].arrived_ms
    assert isinstance(query.start.streams["orders"].shards[A].cut, After)
    stream.put_many(A, 3)
    stream.clock.sleep(30 * HOUR_S)
    stream.retention_hours = 24  # Kinesis trims late
    stream.forgets = False
    query.restart()
    assert query.batch() == everything(stream)[3:]
