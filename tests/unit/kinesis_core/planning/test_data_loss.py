"""What happens when records leave the stream before they were read, as the planner sees it."""

from __future__ import annotations

from collections import Counter

import pytest

from kinesis_core.errors import DataLossError, StreamNotFoundError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    ForeignCheckpoint,
    Latest,
    Offset,
    PerShard,
    Record,
    ShardEnd,
    ShardOffset,
    StartingPosition,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning import Limits, PlanSettings
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream, throttle

A, B = "shardId-000000000000", "shardId-000000000001"
HOUR_S = 3600


def query_on(stream: ScriptedStream, *, fails: bool) -> Planned:
    return Planned([stream], settings=PlanSettings(fail_on_data_loss=fails))


def trimmed_while_down(*, fails: bool, is_stuck: bool = False) -> tuple[ScriptedStream, Planned]:
    """Return a query that was down for longer than the retention, and its stream with 2 of 4 new records left."""
    stream = scripted_stream(1)
    stream.is_stuck_when_trimmed = is_stuck
    query = query_on(stream, fails=fails)
    stream.put_many(A, 5)
    query.batch()
    stream.put_many(A, 2)
    stream.clock.sleep(25 * HOUR_S)
    stream.put_many(A, 2)
    stream.trim(A, 7)
    query.restart()
    return stream, query


@pytest.mark.parametrize("is_stuck", [False, True])
def test_a_position_out_of_retention_stops_the_query(is_stuck: bool) -> None:
    """Records that left while the query was down are an error naming shard, position, retention and the option."""
    stream, query = trimmed_while_down(fails=True, is_stuck=is_stuck)
    read, oldest = (stream.shards[A].records[i].sequence_number for i in (4, 7))
    said = rf"Shard {A} of orders: .*AFTER {read}.*retention 24 h.*{oldest}.*fail_on_data_loss=False.*cut=AFTER {read}\]"
    for _ in range(2):
        with pytest.raises(DataLossError, match=said):
            query.batch()


@pytest.mark.parametrize("is_stuck", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_continuing_with_the_oldest_record(is_stuck: bool, bounded: bool) -> None:
    """With fail_on_data_loss off the query continues with the oldest record that is left."""
    stream, query = trimmed_while_down(fails=False, is_stuck=is_stuck)
    assert query.batch(bounded=bounded) == everything(stream)[7:]
    assert query.batch(bounded=bounded) == []


def test_the_oldest_record_after_a_gap(caplog: pytest.LogCaptureFixture) -> None:
    """The loss is reported once, and the oldest record reached, when a gap takes several plans to cross."""
    stream, query = trimmed_while_down(fails=False, is_stuck=True)
    stream.gaps[A, 7] = 11
    assert query.batches(4) == everything(stream)[7:]
    assert caplog.text.count("data.lost") == 1


def test_a_throttle_during_the_check_passes() -> None:
    """A throttle while the retention is being checked leaves the shard for the next plan, and the check is made then."""
    stream, query = trimmed_while_down(fails=False)
    stream.fail("GetRecords", A, [throttle()])
    assert query.batches(2) == everything(stream)[7:]
    stream, query = trimmed_while_down(fails=True)
    stream.fail("GetShardIterator", A, [throttle()])
    assert query.batch() == []
    with pytest.raises(DataLossError):
        query.batch()


@pytest.mark.parametrize("position", [TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
@pytest.mark.parametrize("before", [0, 5])
def test_nothing_left_after_a_long_time_down_may_be_loss(before: int, position: StartingPosition) -> None:
    """
    A query that was down for longer than the retention cannot know whether an empty shard was silent, and says so. With
    fail_on_data_loss off, it knows from then on.
    """
    stream = scripted_stream(2)
    stream.clock.sleep(5)
    query = Planned([stream], position)
    stream.put_many(A, before)
    stream.put_many(B, 5)
    query.batches(3)
    stream.put_many(A, 10)
    stream.clock.sleep(30 * HOUR_S)
    stream.trim(A, before + 10)
    stream.put_many(B, 1)
    query.restart()
    with pytest.raises(DataLossError, match=f"retention 24 h.*, and no record is left.*shard={A}"):
        query.batch()
    query.settings = PlanSettings(fail_on_data_loss=False)
    query.restart()
    assert query.batches(3) == everything(stream, B)[5:]
    query.settings = PlanSettings()
    query.restart()
    record = stream.put(A, b"x")
    assert query.batches(2) == [(A, record.sequence_number)]


@pytest.mark.parametrize("position", [TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
def test_what_came_and_went_in_a_shard_without_records(position: StartingPosition) -> None:
    """A shard that was empty when the query stopped, and has a record now, may have had others in between."""
    stream = scripted_stream(1)
    stream.clock.sleep(5)
    query = Planned([stream], position)
    for _ in range(10):
        stream.clock.sleep(HOUR_S)
        query.batch()
    stream.put_many(A, 10)
    stream.clock.sleep(30 * HOUR_S)
    stream.trim(A, 10)
    stream.put_many(A, 5)
    query.restart()
    with pytest.raises(DataLossError, match=f"retention 24 h.*, and the oldest record.*shard={A}"):
        query.batch()


@pytest.mark.parametrize("position", [TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
@pytest.mark.parametrize("down_hours", [0.1, 1, 17])
def test_an_idle_query_that_is_started_again(position: StartingPosition, down_hours: float) -> None:
    """A query that has never seen a record continues after a stop without an error, and runs no batch for that."""
    stream = scripted_stream(2)
    stream.clock.sleep(5)
    query = Planned([stream], position)
    assert query.batch() == []
    first = query.start
    for _ in range(4):
        query.restart()
        assert query.batch() == []
        assert query.start == first
    stream.clock.sleep(down_hours * HOUR_S)
    query.restart()
    record = stream.put(B, b"x")
    assert query.batch() == [(B, record.sequence_number)]


def test_what_came_and_went_in_a_child_without_records() -> None:
    """A child shard that was empty when the query stopped is no exception, and one that was silent throughout is no loss."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    stream.put_many(A, 5)
    query.batch()
    one, other = stream.split(A)
    for _ in range(40):
        stream.clock.sleep(HOUR_S)
        assert query.batch() == []
    query.restart()
    stream.clock.sleep(12 * HOUR_S)
    record = stream.put(one, b"x")
    assert query.batch() == [(one, record.sequence_number)]
    stream.put_many(other, 3)
    stream.clock.sleep(30 * HOUR_S)
    stream.trim(one, 1)
    stream.trim(other, 3)
    query.restart()
    with pytest.raises(DataLossError, match="no record is left"):
        query.batch()


def test_what_came_and_went_in_a_child_created_while_the_query_was_down() -> None:
    """That a closed parent has nothing after its position says nothing of what its children held."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    stream.put_many(A, 5)
    query.batch()
    stream.clock.sleep(HOUR_S)
    one, _ = stream.split(A)
    stream.put_many(one, 3)
    stream.clock.sleep(30 * HOUR_S)
    stream.trim(one, 3)
    query.restart()
    with pytest.raises(DataLossError, match="no record is left"):
        query.batches(2)


def test_many_generations_cost_no_recursion() -> None:
    """Hundreds of closed shards without records, one the child of the other, pass their times on."""
    stream = scripted_stream(1)
    stream.put_many(A, 1)
    query = query_on(stream, fails=True)
    query.batch()
    shard = A
    for _ in range(300):
        shard = stream.merge(*stream.split(shard))
    stream.clock.sleep(HOUR_S)
    query.restart()
    for _ in range(3):
        assert query.batch() == []
        stream.clock.sleep(23 * HOUR_S)
    record = stream.put(shard, b"x")
    assert query.batches(2) == [(shard, record.sequence_number)]


def test_a_child_is_no_older_than_its_parents() -> None:
    """A child that waits for parents with a backlog of hours holds nothing that could have left before it is read."""
    stream = scripted_stream(1)
    stream.put_many(A, 40, every_s=1800)
    children = stream.split(A)
    for child in children:
        stream.put_many(child, 3, every_s=60)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=4)))
    read = []
    for _ in range(60):
        read += query.batch()
        query.restart()
        stream.clock.sleep(600)
    assert read == everything(stream)


def test_an_old_position_whose_record_is_still_there_is_no_loss() -> None:
    """Kinesis trims late: while the position's own record is the oldest, nothing after it is gone."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    stream.put_many(A, 5)
    query.batch()
    stream.clock.sleep(25 * HOUR_S)
    stream.put(A, b"x")
    stream.trim(A, 4)
    query.restart()
    assert query.batch() == everything(stream)[5:]


@pytest.mark.parametrize("position", [TrimHorizon(), Latest()])
def test_a_record_after_a_long_silence_is_no_loss(position: StartingPosition) -> None:
    """A query that saw a silent shard idle a short while before it went down knows that nothing was lost since."""
    stream = scripted_stream(2)
    if isinstance(position, TrimHorizon):
        stream.put_many(A, 5)
        stream.put_many(B, 5)
    query = Planned([stream], position)
    for _ in range(60):  # the shards are silent for longer than the retention, and the query is there
        query.batch()
        stream.clock.sleep(HOUR_S)
    for shard_id in (A, B):
        stream.trim(shard_id, len(stream.shards[shard_id].records))
    stream.clock.sleep(10 * HOUR_S)
    record = stream.put(A, b"x")
    query.restart()
    assert query.batches(2) == [(A, record.sequence_number)]


@pytest.mark.parametrize("position", [TrimHorizon(), Latest()])
def test_a_long_time_down_after_a_silence_is_loss(position: StartingPosition) -> None:
    """A query that was down for longer than the retention cannot know, however silent the shard had been, and says so."""
    stream = scripted_stream(1)
    if isinstance(position, TrimHorizon):
        stream.put_many(A, 5)
    query = Planned([stream], position)
    for _ in range(60):
        query.batch()
        stream.clock.sleep(HOUR_S)
    stream.put_many(A, 3)
    stream.trim(A, len(stream.shards[A].records))
    stream.clock.sleep(30 * HOUR_S)
    stream.put(A, b"x")
    query.restart()
    with pytest.raises(DataLossError, match=r"[(]age 3[45].* h, retention 24 h[)]"):
        query.batch()


def test_silence_costs_few_batches() -> None:
    """The offset of an idle shard is written again four times per retention, each time by a batch without records."""
    stream = scripted_stream(3)
    stream.put_many(A, 5)
    query = query_on(stream, fails=True)
    query.batch()
    offsets = {str(query.start.to_json())}
    for _ in range(10 * 24 * 4):
        assert query.batch() == []
        offsets.add(str(query.start.to_json()))
        stream.clock.sleep(HOUR_S / 4)
    assert 30 < len(offsets) < 42


def test_a_silent_shard_costs_one_call_a_plan() -> None:
    """However long a shard stays silent, a query that asks it now and then is never in doubt."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    stream.put_many(A, 5)
    query.batches(2)
    stream.calls.clear()
    for _ in range(3):
        stream.clock.sleep(23 * HOUR_S)
        stream.trim(A, 5)
        query.batch()
    assert stream.calls["GetRecords"] == 3


def test_what_came_and_went_between_two_plans() -> None:
    """A query that has not asked a shard for longer than the retention cannot know what came and went, and says so."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    stream.put_many(A, 5)
    query.batches(2)
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, 5)
    with pytest.raises(DataLossError, match="no record is left"):
        query.batch()


@pytest.mark.parametrize("bounded", [False, True])
def test_a_position_from_which_nothing_comes_is_a_loss(bounded: bool) -> None:
    """A plan does not wait for ever while pages are empty without progress, also where no arrival time shows the loss."""
    stream = scripted_stream(1)
    stream.is_stuck_when_trimmed = True
    stream.put_many(A, 5)
    stream.trim(A, 3)
    first = ShardOffset(After(stream.shards[A].records[0].number))
    start = Offset({"orders": StreamOffset(stream.created_ms, {A: first})})
    query = query_on(stream, fails=True)
    query.start = start
    with pytest.raises(DataLossError, match=f"50 empty pages without progress after AFTER .*shard={A}"):
        query.batches(50, bounded=bounded)
    query = query_on(stream, fails=False)
    query.start = start
    assert query.batches(50, bounded=bounded) == everything(stream)[3:]


@pytest.mark.parametrize("is_stuck", [False, True])
@pytest.mark.parametrize("kind", [At, After])
def test_a_start_out_of_retention_is_a_loss(kind: type[At | After], is_stuck: bool) -> None:
    """A start at a record that has left the stream is a loss before the first batch, if newer ones are there."""
    stream = scripted_stream(1)
    stream.is_stuck_when_trimmed = is_stuck
    stream.put_many(A, 5)
    stream.trim(A, 3)
    gone, oldest = (stream.shards[A].records[i] for i in (0, 3))
    start = PerShard({A: kind(gone.number)})
    said = f"record {gone.number} is not in the shard, .* {oldest.number}.*fail_on_data_loss=False.*shard={A}"
    with pytest.raises(DataLossError, match=said):
        Planned([stream], start)
    query = Planned([stream], start, PlanSettings(fail_on_data_loss=False))
    assert query.batch() == everything(stream)[3:]


@pytest.mark.parametrize("kind", [At, After])
@pytest.mark.parametrize("position", [PerShard, ForeignCheckpoint])
def test_a_start_out_of_retention_with_nothing_left(
    position: type[PerShard | ForeignCheckpoint], kind: type[At | After]
) -> None:
    """A start at a record that has left the stream is a loss also where the shard is empty: others may have come and gone."""
    stream = scripted_stream(1)
    first, *_ = stream.put_many(A, 100)
    stream.clock.sleep(30 * HOUR_S)
    stream.trim(A, 100)
    start = position({A: kind(first.number)})
    with pytest.raises(
        DataLossError, match=f"record {first.number} is not in .* may have expired .* no record is left"
    ):
        Planned([stream], start)
    query = Planned([stream], start, PlanSettings(fail_on_data_loss=False))
    assert query.planner.losses() == {"orders": 1}
    record = stream.put(A, b"x")
    assert query.batch() == [(A, record.sequence_number)]


def test_a_start_at_a_record_that_a_young_stream_has_not() -> None:
    """Nothing can have left the stream yet: the shard is empty, and the number is of no record. Once it is older, that is in doubt."""
    stream = scripted_stream(1)
    stream.created_ms = stream.now_ms() - 23 * HOUR_S * 1000
    number = stream.put(A, b"x").number - 1
    stream.shards[A].records.clear()
    query = Planned([stream], PerShard({A: After(number)}))
    stream.clock.sleep(HOUR_S)
    query.restart()
    with pytest.raises(DataLossError, match=r"age 24 h, retention 24 h.*no record is left"):
        query.batch()


@pytest.mark.parametrize("count", [0, 3])
def test_a_start_whose_search_ends_in_a_gap(count: int) -> None:
    """A search follows a gap to its end, so that the start shows what is lost."""
    stream = scripted_stream(1)
    first, *_ = stream.put_many(A, 5)
    stream.trim(A, 5)
    stream.put_many(A, count)
    stream.gaps[A, 5] = 60
    with pytest.raises(DataLossError, match=f"record {first.number} is not in the shard"):
        Planned([stream], PerShard({A: After(first.number)}))


def test_a_start_at_a_record_without_a_time() -> None:
    """Its age is not known. Once it is gone, records after it may be lost, and no plan passes over that."""
    stream = scripted_stream(1)
    first, *_ = stream.put_many(A, 5)
    stream.shards[A].records[0] = Record(first.sequence_number, b"x", "k", None)
    query = Planned([stream], PerShard({A: After(first.number)}))
    stream.trim(A, 5)
    stream.clock.sleep(30 * HOUR_S)
    with pytest.raises(DataLossError, match="may have expired"):
        query.batch()


@pytest.mark.parametrize("is_known", [True, False])
def test_a_start_between_records_that_expire_before_the_first_plan(is_known: bool) -> None:
    """A number that is no record's has a time as well: that of an older record, or of the stream."""
    stream = scripted_stream(1)
    put = stream.put_many(A, 5)
    if not is_known:
        stream.shards[A].records[0] = Record(put[0].sequence_number, b"x", "k", None)
    query = Planned([stream], PerShard({A: After(put[1].number + 1)}))
    stream.trim(A, 5)
    stream.clock.sleep(30 * HOUR_S)
    with pytest.raises(DataLossError, match=r"may have expired|expired before it was read"):
        query.batch()
    query.restart()
    with pytest.raises(DataLossError, match="may have expired"):
        query.batch()


def test_a_start_ahead_of_all_records_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Such a shard would look idle for ever. A subscription may continue there, so it is no error."""
    stream = scripted_stream(1)
    *_, last = stream.put_many(A, 5)
    query = Planned([stream], PerShard({A: After(last.number)}))
    assert "start.ahead" not in caplog.text
    query = Planned([stream], PerShard({A: After(last.number + 1)}))
    assert f"start.ahead stream=orders shard={A} sequence={last.number + 1}" in caplog.text
    record = stream.put(A, b"x")
    assert query.batch() == [(A, record.sequence_number)]


def test_a_start_between_records_is_no_loss() -> None:
    """A number that is no record's, as enhanced fan-out continues from, is a fine start among records that are there."""
    stream = scripted_stream(1)
    stream.put_many(A, 5)
    second = stream.shards[A].records[1]
    query = Planned([stream], PerShard({A: After(second.number + 1)}))
    assert query.batch() == everything(stream)[2:]


def test_a_throttle_while_the_start_is_looked_for_passes() -> None:
    """A throttle does not keep a query from starting at a record."""
    stream = scripted_stream(1)
    stream.put_many(A, 5)
    stream.fail("GetRecords", A, [throttle(), throttle()])
    stream.fail("GetShardIterator", A, [throttle()])
    query = Planned([stream], PerShard({A: After(stream.shards[A].records[1].number)}))
    assert query.batches(2) == everything(stream)[2:]


def test_a_long_gap_is_no_loss() -> None:
    """However long a gap is, empty pages that come closer to the tip are progress."""
    stream = scripted_stream(1)
    stream.put_many(A, 2)
    stream.gaps[A, 0] = 500
    query = query_on(stream, fails=True)
    assert query.batches(130) == everything(stream)


def gone_while_down(*, fails: bool) -> tuple[ScriptedStream, Planned]:
    """Return a query whose half-read shard is gone, and its stream."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=fails)
    stream.put_many(A, 5)
    query.batch()
    stream.put_many(A, 2)
    left, _ = stream.split(A)
    stream.put_many(left, 3)
    del stream.shards[A]
    query.restart()
    return stream, query


def test_a_shard_that_is_gone_stops_the_query() -> None:
    """An unfinished shard that Kinesis no longer knows is an error that names it."""
    _, query = gone_while_down(fails=True)
    with pytest.raises(DataLossError, match=f"no longer knows the shard.*fail_on_data_loss.*shard={A}"):
        query.batch()


def test_a_shard_that_is_gone_is_reported_once() -> None:
    """Plans from one offset, of which none is taken, report the loss of one shard once. It counts again after another offset."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=False)
    stream.put_many(A, 3)
    stream.fail("GetShardIterator", A, [StreamNotFoundError("Not found.", "ResourceNotFoundException")] * 2)
    for _ in range(2):
        assert query.planner.next_offset(query.start).streams["orders"].shards[A].cut == ShardEnd()
        assert query.planner.losses() == {"orders": 1}
    further = Offset(
        {
            "orders": StreamOffset(
                stream.created_ms, {A: ShardOffset(After(stream.shards[A].records[0].number))}
            )
        }
    )
    stream.fail("GetShardIterator", A, [StreamNotFoundError("Not found.", "ResourceNotFoundException")])
    query.planner.next_offset(further)
    assert query.planner.losses() == {"orders": 2}


def test_a_shard_that_leaves_before_its_first_plan() -> None:
    """Reading begins at a time within the shortest retention, and what left with the closed shard is older than that."""
    stream = scripted_stream(1)
    children = stream.split(A)
    query = Planned([stream])
    stream.put_many(children[0], 2)
    del stream.shards[A]
    assert query.batch() + query.batch() == everything(stream)


def test_a_shard_that_leaves_within_the_retention_of_a_start() -> None:
    """A closed shard that is gone had no record of the last 48 hours, so nothing since a start 25 hours ago is lost."""
    stream = scripted_stream(1)
    stream.forgets = True
    stream.retain(48)
    children = stream.split(A)
    stream.clock.sleep(25 * HOUR_S)
    query = Planned([stream], AtTimestamp(stream.now_ms()))
    stream.clock.sleep(25 * HOUR_S)
    stream.put_many(children[0], 2)
    assert A not in [shard.shard_id for shard in stream.list_shards()]
    assert query.batch() + query.batch() == everything(stream)


@pytest.mark.parametrize("margin_s", [0, 300])
@pytest.mark.parametrize("position", [TrimHorizon(), Latest()])
@pytest.mark.parametrize("plans", [0, 1])
@pytest.mark.parametrize("hours", [24, 168])
def test_a_shard_that_leaves_before_it_is_read(
    position: StartingPosition, plans: int, margin_s: int, hours: int
) -> None:
    """Records that came after the start, and left with their shard, are lost, whatever the retention is raised to since."""
    stream = scripted_stream(1)
    stream.forgets = True
    query = Planned([stream], position, PlanSettings(trim_horizon_margin_s=margin_s))
    assert query.batches(plans) == []
    stream.put_many(A, 5)
    stream.clock.sleep(HOUR_S)
    stream.split(A)
    stream.clock.sleep(48 * HOUR_S)
    assert A not in [shard.shard_id for shard in stream.list_shards()]
    stream.retain(hours)
    with pytest.raises(DataLossError, match="no longer knows the shard"):
        query.batch()


def test_a_shard_that_leaves_before_the_first_plan_after_a_record() -> None:
    """A query that begins after a record was promised all that follows it."""
    stream = scripted_stream(1)
    stream.put_many(A, 3)
    query = Planned([stream], PerShard({A: After(stream.shards[A].records[1].number)}))
    stream.split(A)
    del stream.shards[A]
    with pytest.raises(DataLossError, match="no longer knows the shard"):
        query.batch()


def test_an_open_shard_that_is_not_found() -> None:
    """An open shard cannot have left, wherever reading starts: a response that says so stops the query."""
    stream = scripted_stream(1)
    stream.put_many(A, 5)
    query = Planned([stream])
    stream.fail("GetShardIterator", A, [StreamNotFoundError("Not found.", "ResourceNotFoundException")])
    with pytest.raises(DataLossError, match="no longer knows the shard"):
        query.batch()
    assert query.batch() == everything(stream)


def test_children_of_a_shard_that_is_gone_are_planned_once() -> None:
    """They need no parent that is not listed, so they are planned beside it, and not again when it turns out gone."""
    stream, query = gone_while_down(fails=False)
    stream.log.clear()
    assert query.planner.next_offset(query.start, bounded=False) is not query.start
    pages = Counter(call.shard_id for call in stream.log if call.action == "GetRecords")
    written, empty = stream.shards
    assert pages == {written: 2, empty: 1}  # its records, and that nothing is after them


@pytest.mark.parametrize("bounded", [False, True])
def test_continuing_without_a_shard_that_is_gone(bounded: bool) -> None:
    """With fail_on_data_loss off the shard counts as finished, its children are read, and its lag is forgotten."""
    stream, query = gone_while_down(fails=False)
    read = query.batch(bounded=bounded) + query.batch(bounded=bounded)
    assert read == everything(stream)
    assert query.start.streams["orders"].shards.get(A, ShardOffset(ShardEnd())) == ShardOffset(ShardEnd())
    assert A not in query.planner.lag_ms()["orders"]


def test_available_now_ends_though_a_shard_is_gone() -> None:
    """A shard that leaves the stream after its fixed target does not keep AvailableNow waiting."""
    stream = scripted_stream(2)
    stream.put_many(A, 3)
    stream.put_many(B, 3)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=1), fail_on_data_loss=False))
    query.planner.fix_targets()
    assert query.batch() == everything(stream, A)[:1] + everything(stream, B)[:1]
    children = stream.split(A)
    stream.put_many(children[0], 2)
    del stream.shards[A]
    read = []
    while batch := query.batch():
        read += batch
    assert read == everything(stream, B)[1:]


def test_losses_are_counted() -> None:
    """A loss that is logged is counted once, however often its shard is planned again. One that stops the query is not."""
    _, query = trimmed_while_down(fails=False)
    assert query.planner.losses() == {"orders": 0}
    for _ in range(3):
        query.batch()
    assert query.planner.losses() == {"orders": 1}
    _, failing = trimmed_while_down(fails=True)
    with pytest.raises(DataLossError):
        failing.batch()
    assert failing.planner.losses() == {"orders": 0}


def test_the_retention_is_known_without_a_call() -> None:
    """The retention is that of the last description of the stream, and asking for it makes no call."""
    stream = scripted_stream(1)
    query = query_on(stream, fails=True)
    query.batch()
    stream.calls.clear()
    assert query.planner.retention_hours() == {"orders": 24}
    assert not stream.calls
