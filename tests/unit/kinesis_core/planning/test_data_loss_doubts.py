"""Doubts whether records left the stream: what settles them, and what causes no doubt."""

from __future__ import annotations

import random

import pytest
from attrs import define

from kinesis_core.errors import DataLossError
from kinesis_core.model import Cut, Page, TrimHorizon
from kinesis_core.planning import Limits, Planner, PlanSettings
from kinesis_core.planning.stream_facts import KNOWN_S
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream, throttle

A = "shardId-000000000000"
HOUR_S = 3600
CALL_S = 0.02


def query_of(stream: ScriptedStream, records: int) -> Planned:
    settings = PlanSettings(Limits(max_records=records), first_plan_crosses_gaps=False)
    return Planned([stream], settings=settings)


@define
class OldestThrottled(ScriptedStream):
    """So many looks for the oldest record are throttled."""

    throttles: int = 0

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        if cut == TrimHorizon() and self.throttles:
            self.throttles -= 1
            raise throttle()
        return super().get_iterator(shard_id, cut)


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("throttles", [0, 1, 3])
def test_a_run_does_not_end_in_doubt(throttles: int, is_closed: bool) -> None:
    """Records that left a shard are reported also when the search for the oldest one is throttled, and the shard is closed."""
    stream = OldestThrottled(FakeClock())
    stream.create(1)
    query = query_of(stream, 2)
    stream.put_many(A, 5, every_s=1)
    if is_closed:
        stream.split(A)
    query.planner.fix_targets()
    assert len(query.batch()) == 2
    stream.clock.sleep(25 * HOUR_S)
    stream.trim(A, 5)
    stream.throttles = throttles
    with pytest.raises(
        DataLossError, match=f"record .* expired before it was read, and no record is left.*shard={A}"
    ):
        query.batches(5)


@pytest.mark.parametrize("throttles", [0, 1, 3])
@pytest.mark.parametrize("has_lost_before", [False, True])
def test_each_loss_of_a_shard_is_reported(
    has_lost_before: bool, throttles: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A shard that has lost records once, and loses its last ones, is reported again before its children are read."""
    stream = OldestThrottled(FakeClock())
    stream.create(1)
    settings = PlanSettings(Limits(max_records=50), fail_on_data_loss=False, first_plan_crosses_gaps=False)
    query = Planned([stream], settings=settings)

    def lose(count: int) -> None:
        stream.clock.sleep(25 * HOUR_S)
        stream.trim(A, count)

    stream.put_many(A, 5, every_s=1)
    assert len(query.batch()) == 5
    if has_lost_before:
        stream.put_many(A, 3, every_s=1)
        lose(8)
        stream.put_many(A, 2, every_s=1)
        assert len(query.batches(4)) == 2
    stream.put_many(A, 3, every_s=1)
    child = stream.split(A)[0]
    lose(len(stream.shards[A].records))
    put = stream.put_many(child, 4, every_s=1)
    stream.throttles = throttles
    assert query.batches(8) == [(child, record.sequence_number) for record in put]
    lost = [record.__dict__["context"]["shard"] for record in caplog.records if "data.lost" in record.message]
    assert lost.count(A) == 1 + has_lost_before


@define
class SlowToSayTip(ScriptedStream):
    """The page with the last record says that there is more, as AWS does at times."""

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        page = super().get_records(iterator, limit, with_data, shard_id)
        if page.records and not page.millis_behind:
            page.millis_behind = 700
        return page


def test_what_was_seen_idle_has_no_more_after_it() -> None:
    """A shard of which the last page promised more, and a later one did not, has lost nothing after a long pause."""
    stream = SlowToSayTip(FakeClock())
    stream.create(1)
    query = query_of(stream, 3)
    put = stream.put_many(A, 3, every_s=1)
    read = []
    for _ in range(4):
        read += query.batch()
        stream.clock.sleep(5)
    assert len(read) == len(put)
    stream.clock.sleep(23 * HOUR_S)
    stream.trim(A, 3)
    assert query.batch() == []


def test_a_retention_that_is_lowered_while_a_query_runs() -> None:
    """Records that expire by the new retention are reported."""
    stream = scripted_stream(1)
    stream.retention_hours = 168
    query = query_of(stream, 50)
    stream.put_many(A, 60, every_s=60)
    assert query.batch() == everything(stream)[:50]
    stream.retain(24)
    stream.clock.sleep(30 * HOUR_S)
    stream.put_many(A, 60, every_s=60)
    stream.trim(A, 80)
    with pytest.raises(DataLossError, match="retention 24 h"):
        query.batch()


def test_a_retention_that_is_raised_while_a_query_runs() -> None:
    """It is known within minutes, and what is younger costs no further looks from then on."""
    stream = scripted_stream(1)
    query = query_of(stream, 50)
    stream.put_many(A, 1000, every_s=1)
    query.batch()
    stream.retention_hours = 168
    stream.clock.sleep(30 * HOUR_S)
    query.batch()
    assert not [call for call in stream.calls_of("GetShardIterator") if call.cut == TrimHorizon()][1:]
    described = len(stream.calls_of("DescribeStreamSummary"))
    query.batches(5)
    assert len(stream.calls_of("DescribeStreamSummary")) == described
    stream.clock.sleep(KNOWN_S + 1)
    query.batch()
    assert len(stream.calls_of("DescribeStreamSummary")) == described + 1


@define
class Leaving(FakeStream):
    """Each call takes its time, and by then what is older than a day has left."""

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        self._pass_time()
        return super().get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self._pass_time()
        asked_for, index = self._iterators[int(iterator)]
        self._iterators[int(iterator)] = (asked_for, max(index, self.shards[asked_for].trimmed))
        return super().get_records(iterator, limit, with_data, shard_id)

    def _pass_time(self) -> None:
        self.clock.sleep(CALL_S)
        kept_ms = self.now_ms() - 24 * HOUR_S * 1000
        for shard in self.shards.values():
            shard.trimmed = sum((record.arrived_ms or 0) < kept_ms for record in shard.records)


@pytest.mark.parametrize("targets", [False, True])
def test_nobody_was_promised_what_leaves_before_it_is_planned(targets: bool) -> None:
    """Who begins at the oldest record of a stream that records leave all the time begins at what is the oldest then."""
    clock = FakeClock()
    stream = Leaving(clock, name="orders").create(1)
    ends_s = clock.now
    clock.now = ends_s - 24 * HOUR_S - 5
    for _ in range(3000):
        stream.put(A, b"x")
        clock.sleep(0.1)
    while clock.now < ends_s:
        stream.put(A, b"y")
        clock.sleep(120)
    planner = Planner(
        {"orders": stream},
        PlanSettings(Limits(max_records=10_000), first_plan_crosses_gaps=False),
        threads=1,
        clock=clock,
        rng=random.Random(1),
    )
    start = planner.initial_offset(TrimHorizon())
    if targets:
        planner.fix_targets()
    end = planner.next_offset(start)
    assert end.streams["orders"].shards[A].first is not None


@pytest.mark.parametrize("is_anew", [False, True])
def test_a_query_that_runs_once_a_day(is_anew: bool) -> None:
    """A query that has read all records reports no loss when, a day later, the last of them have left."""
    stream = scripted_stream(1)
    query = query_of(stream, 100)
    stream.put_many(A, 10)
    stream.clock.sleep(13 * HOUR_S)
    assert len(query.batch()) == 10
    if is_anew:
        query.restart()
    stream.put_many(A, 5)
    stream.clock.sleep(23 * HOUR_S)
    stream.trim(A, 10)
    assert query.batch() == everything(stream)[10:]


def test_a_query_far_behind_knows_what_comes_next() -> None:
    """The last record it read leaves, and the next one does not: nothing is lost, however long ago the last one came."""
    stream = scripted_stream(1)
    query = query_of(stream, 10)
    stream.put_many(A, 10)
    stream.clock.sleep(18 * HOUR_S)
    stream.put_many(A, 5)
    stream.clock.sleep(5 * HOUR_S)
    assert len(query.batch()) == 10
    stream.clock.sleep(5 * HOUR_S)
    stream.trim(A, 10)
    assert query.batch() == everything(stream)[10:]


@pytest.mark.parametrize("early_s", [1, 30, 55])
def test_records_that_leave_a_little_early(early_s: int) -> None:
    """Arrival times and clocks are not exact: a record counts as leaving up to a minute before its time."""
    stream = scripted_stream(1)
    query = query_of(stream, 5)
    stream.put_many(A, 7)
    assert query.batch() == everything(stream)[:5]
    stream.clock.sleep(24 * HOUR_S - early_s)
    stream.put_many(A, 2)
    stream.trim(A, 7)
    query.restart()
    with pytest.raises(DataLossError, match="retention 24 h"):
        query.batch()


def test_an_empty_page_before_a_throttle_settles_no_doubt() -> None:
    """A plan that is throttled in the gap which a loss left proves nothing: the next one reports the loss."""
    stream = scripted_stream(1)
    query = query_of(stream, 50)
    stream.put_many(A, 5)
    assert len(query.batch()) == 5
    stream.put_many(A, 3)
    stream.clock.sleep(25 * HOUR_S)
    stream.put_many(A, 2)
    stream.trim(A, 8)
    stream.gaps[A, 8] = 2
    query.restart()
    stream.fail_after_next("GetRecords", A, "GetRecords", throttle())
    assert query.batch() == []
    with pytest.raises(DataLossError, match="age 25 h, retention 24 h"):
        query.batch()
