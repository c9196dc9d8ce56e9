"""Records that leave the stream in front of a query that runs."""

from __future__ import annotations

import pytest

from kinesis_core.errors import DataLossError
from kinesis_core.model import At, PerShard
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.shards import VISIT_PAGES
from support.fake_stream import FakeClock, Mood
from support.planned import Planned, Read, everything
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = "shardId-000000000000", "shardId-000000000001"
HOUR_S = 3600


def in_batches_of(records: int, stream: ScriptedStream, *, fails: bool, crosses: bool = True) -> Planned:
    settings = PlanSettings(
        Limits(max_records=records),
        fail_on_data_loss=fails,
        first_plan_crosses_gaps=crosses,
        max_shard_skew_s=None,
    )
    return Planned([stream], settings=settings)


def trimmed_while_behind(*, fails: bool, put_later: int = 5) -> tuple[ScriptedStream, Planned]:
    """Return a query that had read 10 of 20 records when the others left, and its stream with newer ones."""
    stream = scripted_stream(1)
    query = in_batches_of(10, stream, fails=fails)
    stream.put_many(A, 20, every_s=1)
    assert query.batch() == everything(stream)[:10]
    stream.clock.sleep(25 * HOUR_S)
    stream.put_many(A, put_later)
    stream.trim(A, 20)
    return stream, query


def test_falling_behind_the_retention_stops_the_query() -> None:
    """A query that runs, and from which unread records leave, stops as one that comes back too late does."""
    _, query = trimmed_while_behind(fails=True)
    for _ in range(2):
        with pytest.raises(DataLossError, match=f"age 25 h, retention 24 h.*shard={A}"):
            query.batch()


def test_a_backlog_that_left_altogether_stops_the_query() -> None:
    """That nothing new came, so that the shard looks idle, hides no loss from a query that knows it was behind."""
    _, query = trimmed_while_behind(fails=True, put_later=0)
    for _ in range(2):
        with pytest.raises(
            DataLossError, match=f"expired before they were read, and no record is left.*shard={A}"
        ):
            query.batch()


def test_continuing_though_behind_the_retention(caplog: pytest.LogCaptureFixture) -> None:
    """With fail_on_data_loss off the loss is logged, once, and what is left is read."""
    stream, query = trimmed_while_behind(fails=False)
    assert query.batches(4) == everything(stream)[20:]
    assert caplog.text.count("data.lost") == 1


def test_a_backlog_near_the_retention_is_no_loss() -> None:
    """A position older than the retention is good while Kinesis, which trims late, has its record still."""
    stream = scripted_stream(1)
    query = in_batches_of(10, stream, fails=True)
    stream.put_many(A, 40, every_s=1)
    read = query.batch()
    stream.clock.sleep(25 * HOUR_S)
    for _ in range(5):
        stream.trim(A, len(read) - 1)
        read += query.batch()
    assert read == everything(stream)


def test_the_check_does_not_change_the_lag() -> None:
    """A position whose retention was checked is as far behind as it was before."""
    stream = scripted_stream(1)
    query = in_batches_of(10, stream, fails=True)
    stream.put_many(A, 8, every_s=1)
    query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.put(A, b"x")
    stream.trim(A, 6)
    query.restart()
    assert query.batch() == everything(stream)[8:]
    assert query.planner.lag_ms() == {"orders": {A: 0}}


@pytest.mark.parametrize(("hours", "calls"), [(5, 3), (23, 4)])
def test_a_young_position_is_not_checked(hours: int, calls: int) -> None:
    """
    Plans whose position is well within the retention ask for nothing more, backlog or not; those that are more than a
    quarter of it behind look at the record that comes next, lest they be in doubt about it later.
    """
    stream = scripted_stream(1)
    query = in_batches_of(10, stream, fails=True)
    stream.put_many(A, 40, every_s=1)
    query.batch()
    stream.clock.sleep(hours * HOUR_S)
    stream.log.clear()
    query.batch()
    assert [call.action for call in stream.log].count("GetRecords") == calls


def test_a_start_at_the_oldest_record_is_no_loss() -> None:
    """A start at a record is good while this record is the oldest, however long ago it arrived."""
    stream = scripted_stream(1)
    stream.put_many(A, 5)
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, 2)
    query = Planned([stream], PerShard({A: At(stream.shards[A].records[2].number)}))
    assert query.batch() == everything(stream)[2:]


@pytest.mark.parametrize("crosses", [False, True])
def test_a_gap_before_the_tip_of_a_silent_shard_is_no_loss(crosses: bool) -> None:
    """A silent shard whose records have all left, and whose tip lies after a gap, has lost nothing."""
    stream = scripted_stream(1)
    query = in_batches_of(10, stream, fails=True, crosses=crosses)
    stream.put_many(A, 5)
    query.batch()
    for _ in range(5):
        stream.clock.sleep(10 * HOUR_S)
        assert query.batch() == []
    stream.trim(A, 5)
    stream.gaps[A, 5] = 30
    query.restart()
    assert query.batches(10) == []
    stream.gaps.clear()
    record = stream.put(A, b"x")
    assert query.batches(2) == [(A, record.sequence_number)]


# AvailableNow


def run_available_now(query: Planned, stream: ScriptedStream) -> Read:
    """Return what a run brings from whose first shard all that is left leaves after the first batch."""
    query.planner.fix_targets()
    read = query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, len(stream.shards[A].records))
    while batch := query.batch():
        read += batch
    return read


@pytest.mark.parametrize("is_closed", [False, True])
def test_available_now_reports_a_lost_target(is_closed: bool) -> None:
    """A run whose target has left the stream stops with an error, and does not wait for it."""
    stream = scripted_stream(1)
    stream.put_many(A, 5, every_s=1)
    query = in_batches_of(2, stream, fails=True)
    if is_closed:
        stream.split(A)
    with pytest.raises(DataLossError, match=f"record .* expired before it was read.*shard={A}"):
        run_available_now(query, stream)


@pytest.mark.parametrize("put_later", [0, 3])
def test_available_now_ends_without_a_lost_target(put_later: int, caplog: pytest.LogCaptureFixture) -> None:
    """With fail_on_data_loss off the run ends with what is left, reports the loss once, and reads nothing newer."""
    stream = scripted_stream(2)
    stream.put_many(A, 5, every_s=1)
    stream.put_many(B, 3, every_s=1)
    query = in_batches_of(2, stream, fails=False)
    query.planner.fix_targets()
    read = query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, 5)
    stream.put_many(A, put_later)
    while batch := query.batch():
        read += batch
    assert [number for shard, number in read if shard == A] == [n for _, n in everything(stream, A)[:2]]
    assert caplog.text.count("data.lost") == 1
    assert query.batch() == []


# Gaps


def after_a_gap(pages: int, *, crosses: bool) -> tuple[ScriptedStream, Planned]:
    """Return a query that has read 5 of 6 records, and its stream with a gap before the last."""
    stream = scripted_stream(2)
    stream.put_many(A, 5)
    query = in_batches_of(1000, stream, fails=True, crosses=crosses)
    query.batch()
    stream.put_many(A, 1)
    stream.gaps[A, 5] = pages
    return stream, query


@pytest.mark.parametrize("crosses", [False, True])
def test_a_gap_is_crossed_by_rare_plans(crosses: bool) -> None:
    """Where an iterator expires between plans, a plan crosses the whole gap: none would get further than the one before."""
    stream, query = after_a_gap(40, crosses=crosses)
    read: Read = []
    for _ in range(3):
        stream.put(B, b"x")
        stream.clock.sleep(600)
        read += query.batch()
    assert everything(stream, A)[5] in read


def test_a_gap_is_crossed_by_runs_of_one_plan() -> None:
    """A run of a single bounded plan, as AvailableNow is before Spark 4.2, crosses the gap though other shards have new records."""
    stream, query = after_a_gap(40, crosses=True)
    query.restart()
    stream.put(B, b"x")
    assert query.batch() == [*everything(stream, A)[5:], *everything(stream, B)]


def test_throttles_in_a_gap_are_waited_out() -> None:
    """A plan that crosses a gap does not restart it at each throttle, and finds its oldest record as well."""
    stream = ScriptedStream(FakeClock(), name="orders")
    stream.create(1)
    stream.put_many(A, 5)
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=False))
    query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.put(A, b"x")
    stream.trim(A, 5)
    stream.gaps[A, 5] = 80
    query.restart()
    stream.mood = Mood(throttles=20)
    assert query.batches(10) == everything(stream)[5:]


def test_looking_for_the_oldest_record_holds_up_no_other_shard() -> None:
    """While the oldest record is looked for after a gap, plan after plan, the records of other shards come at once."""
    stream = scripted_stream(2)
    query = in_batches_of(10, stream, fails=False, crosses=False)
    stream.put_many(A, 20, every_s=1)
    query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.put(A, b"x")
    stream.trim(A, 20)
    stream.gaps[A, 20] = 11
    query.restart()
    came: Read = []
    for _ in range(8):
        record = stream.put(B, b"x")
        stream.log.clear()
        end = query.planner.next_offset(query.start)
        assert len(stream.calls_of("GetRecords", A)) <= 2 * VISIT_PAGES + 1
        batch = query.read(query.start, end)
        assert (B, record.sequence_number) in batch
        query.start = end
        stream.clock.sleep(1)
        came += batch
    assert everything(stream, A)[20] in came
