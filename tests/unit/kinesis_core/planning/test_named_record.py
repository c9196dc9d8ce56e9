"""Offsets that name a record which their shard never had."""

from __future__ import annotations

import pytest

from kinesis_core.errors import OffsetError
from kinesis_core.model import After, At, Offset, ShardOffset, StreamOffset
from kinesis_core.planning import PlanSettings
from kinesis_core.shards import VISIT_PAGES
from support.fake_stream import STEP
from support.planned import Planned
from support.scripted_stream import ScriptedStream, scripted_stream, throttle

A = "shardId-000000000000"
HOUR_S = 3600


def restarted(
    stream: ScriptedStream,
    started: ShardOffset | None = None,
    kept_hours: int | None = 24,
    settings: PlanSettings | None = None,
) -> Planned:
    """Return a query that has read all records and is restarted, at *started* if that is given."""
    query = Planned([stream], settings=settings or PlanSettings())
    query.batches(2)
    if started is not None:
        query.start = Offset({"orders": StreamOffset(stream.created_ms, {A: started}, kept_hours)})
    query.restart()
    stream.log.clear()
    return query


def ahead_of(stream: ScriptedStream, kind: type[At | After] = After) -> ShardOffset:
    """Return an offset at a number far ahead of the newest record, as if that had been seen."""
    newest = stream.shards[A].records[-1]
    return ShardOffset(kind(newest.number + 1000 * STEP), newest.arrived_ms)


@pytest.mark.parametrize("kind", [At, After])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("hours", [0, 30])
def test_a_record_that_never_was_is_refused(
    kind: type[At | After], bounded: bool, is_closed: bool, hours: int
) -> None:
    """A number ahead of all records would skip those that come next. It is refused, in a closed shard as well."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream, ahead_of(stream, kind))
    if is_closed:
        stream.split(A)
    stream.clock.sleep(hours * HOUR_S)
    said = rf"a record that {A} never had: {ahead_of(stream, kind).cut}.*Restore the saved offset.*stream=orders shard={A}"
    for _ in range(2):
        with pytest.raises(OffsetError, match=said):
            query.batch(bounded=bounded)


def test_the_newest_record_is_looked_for_once() -> None:
    """A query that is restarted at the newest record looks for it once, and does not look for it in a shard with later ones."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream)
    assert query.batches(5) == []
    assert [call.cut for call in stream.calls_of("GetShardIterator")][1:] == [
        At(stream.shards[A].records[-1].number)
    ]
    stream.put_many(A, 5)
    query.restart()
    stream.log.clear()
    assert query.planner.next_offset(query.start) != query.start
    assert not [call for call in stream.calls_of("GetShardIterator") if isinstance(call.cut, At)]


@pytest.mark.parametrize("left", [0, 3])
def test_a_record_that_may_have_expired(left: int) -> None:
    """Where no older record is left, the named one may have expired as well: the offset is right, and the search is not repeated."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream)
    stream.clock.sleep(10)
    stream.trim(A, 5)
    later = stream.put_many(A, left)
    assert query.batches(3) == [(A, record.sequence_number) for record in later]
    stream.log.clear()
    assert query.batches(3) == []
    assert not stream.calls_of("GetShardIterator")


@pytest.mark.parametrize("hours", [0, 30])
@pytest.mark.parametrize(
    ("arrived_ms", "was_empty", "kept_hours"), [(None, False, 24), (0, True, 24), (0, False, None)]
)
def test_a_number_that_was_not_seen_is_accepted(
    arrived_ms: int | None, was_empty: bool, kept_hours: int | None, hours: int
) -> None:
    """A start may be at a number that is no record's, as enhanced fan-out continues from. Older releases did not tell."""
    stream = scripted_stream()
    stream.retention_hours = 48
    stream.put_many(A, 5)
    known_ms = None if arrived_ms is None else stream.now_ms()
    cut = After(stream.shards[A].records[-1].number + 1)
    query = restarted(stream, ShardOffset(cut, known_ms, was_empty=was_empty), kept_hours and 48)
    stream.clock.sleep(hours * HOUR_S)
    assert query.batch() == []
    record = stream.put(A, b"x")
    assert query.batches(2) == [(A, record.sequence_number)]


def test_a_gap_is_crossed_first() -> None:
    """No call looks for the named record before the tip is reached: a record after a gap may show that the number is right."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream, settings=PlanSettings(first_plan_crosses_gaps=False))
    stream.gaps[A, 5] = VISIT_PAGES + 1
    assert query.batch() == []
    assert len(stream.calls_of("GetShardIterator")) == 1
    assert query.batch() == []
    assert len(stream.calls_of("GetShardIterator")) == 2


def test_a_refused_look_is_made_again() -> None:
    """A throttle of the look leaves the shard to the next plan, and a gap before the oldest record to the next ones."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream, ahead_of(stream))
    stream.gaps[A, 0] = 2 * VISIT_PAGES
    stream.fail_after_next("GetRecords", A, "GetShardIterator", throttle())
    with pytest.raises(OffsetError, match="never had"):
        query.batches(5)


def test_a_gap_may_hide_the_record() -> None:
    """While a gap comes before the named record, and not before the tip, nothing shows that it never was."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = restarted(stream)
    stream.gaps[A, 4] = 3
    assert query.batches(3) == []
    record = stream.put(A, b"x")
    assert query.batches(2) == [(A, record.sequence_number)]
