"""The lag of readers in a stream in memory, from positions that a reader of it has."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from attrs import define, evolve, field

from kinesis_cli.ending import CommandError
from kinesis_cli.lag.judging import Times, judge, needs_standing
from kinesis_cli.lag.lineage import Measurement
from kinesis_cli.lag.measuring import measure
from kinesis_cli.lag.probing import MAX_THROTTLES, Unread
from kinesis_cli.lag.readings import Checkpoint, Position, Reader, Reading
from kinesis_cli.lag.results import ReaderLag, ShardLag, State
from kinesis_core import (
    AccessDeniedError,
    After,
    At,
    AtTimestamp,
    Cut,
    InvalidRequestError,
    ShardEnd,
    StreamNotFoundError,
    ThrottledError,
    TrimHorizon,
)
from kinesis_core.model import Page, Record, StreamSummary
from kinesis_core.shards import STALLED_PAGES, Expired, Passed, Standing, Unseen
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood
from support.scripted_stream import ScriptedStream

A, B, C, D = (f"shardId-{number:012d}" for number in range(4))
HOUR_S = 3600
READER = Checkpoint("cp")


@define
class World:
    """A stream of one shard or more, and a reader of it."""

    clock: FakeClock = field(factory=FakeClock)
    stream: FakeStream = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stream = FakeStream(self.clock).create(1)

    def put(self, shard_id: str = A, data: bytes = b"x", after_s: float = 0.0) -> Record:
        self.clock.sleep(after_s)
        return self.stream.put(shard_id, data)

    def reader(self, position: Cut | Position, **more: Position) -> ReaderLag:
        first = position if isinstance(position, Position) else Position(position, str(position))
        reading = Reading(reader="cp", kind="spark", positions={A: first, **more})
        [lag] = self.measure({READER: reading}).values()
        return lag

    def shard(self, position: Cut | Position, **more: Position) -> ShardLag:
        return next(shard for shard in self.reader(position, **more).shards if shard.shard_id == A)

    def measure(self, readings: dict[Reader, Reading]) -> dict[str, ReaderLag]:
        def read(reader: Reader, _: StreamSummary) -> list[Reading]:
            return [readings[reader]]

        lag = measure(self.stream, list(readings), read, self.clock)
        return {each.reader: each for each in lag.readers}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(params=[Mood(), Mood(empty_pages=40), Mood(short_pages=60), Mood(throttles=40)])
def moody(request: pytest.FixtureRequest) -> World:
    world = World()
    world.stream.mood = request.param
    return world


def test_the_oldest_unread_record(moody: World) -> None:
    """The lag is the age of the first record after the position, however unhelpful the service is."""
    first, second, third = (moody.put(after_s=100) for _ in range(3))
    moody.clock.sleep(1000)
    cases: list[tuple[Cut, Record]] = [
        (TrimHorizon(), first),
        (At(first.number), first),
        (After(first.number), second),
        (At(third.number), third),
        (AtTimestamp((second.arrived_ms or 0) - 10_000), second),
    ]
    for cut, unread in cases:
        found = moody.shard(cut)
        assert found.state is State.BEHIND
        assert found.lag_ms is not None
        age_ms = moody.stream.now_ms() - (unread.arrived_ms or 0)
        assert age_ms - 60_000 <= found.lag_ms <= age_ms  # throttled calls take their time


def test_two_calls(world: World) -> None:
    """It takes GetShardIterator and GetRecords, and readers at the same position share them."""
    read, _ = world.put(), world.put()
    position = Position(After(read.number), "x")
    reading = Reading(reader="", kind="spark", positions={A: position})
    world.measure({Checkpoint(name): evolve(reading, reader=name) for name in "abc"})
    assert world.stream.calls == {
        "DescribeStreamSummary": 1,
        "ListShards": 1,
        "GetShardIterator": 1,
        "GetRecords": 1,
    }


@pytest.mark.parametrize(("skip", "state"), [(1, State.BEHIND), (2, State.BEHIND), (3, State.CURRENT)])
def test_inside_an_aggregate(world: World, skip: int, state: State) -> None:
    """An aggregate of which the last user record was read is read. One with unread user records is not."""
    record = world.put(data=aggregate([("key", None, b"%d" % i) for i in range(3)]))
    world.clock.sleep(5)
    assert world.shard(At(record.number, skip)).state is state


def test_after_a_plain_record(world: World) -> None:
    """A plain record is one user record. So a KCL that has checkpointed it with sub-sequence number 0 has read it."""
    record = world.put()
    assert world.shard(At(record.number, 1)).state is State.CURRENT


def test_near_the_retention(world: World) -> None:
    """Records that have spent three quarters of their retention are about to be lost."""
    world.put()
    world.clock.sleep(17.9 * HOUR_S)
    assert world.shard(TrimHorizon()).state is State.BEHIND
    world.clock.sleep(0.2 * HOUR_S)
    assert world.shard(TrimHorizon()).state is State.EXPIRING
    assert world.reader(TrimHorizon()).expiring == 1


def test_expired(world: World) -> None:
    """Where records are lost, the oldest that is left has nearly spent its retention: reading goes on there in silence."""
    world.stream.forgets = True
    read = world.put()
    for _ in range(40):
        world.put(after_s=HOUR_S)
    found = world.shard(After(read.number))
    assert found.state is State.EXPIRED
    assert found.lag_ms is not None
    assert 23 * HOUR_S * 1000 <= found.lag_ms <= 24 * HOUR_S * 1000
    assert world.reader(After(read.number)).lost == 1
    assert world.shard(AtTimestamp(read.arrived_ms or 0)).state is State.EXPIRED


def test_doubtful(world: World) -> None:
    """Where the record of the position has expired and the next one is young, nobody can tell whether others were between."""
    world.stream.forgets = True
    read = world.put()
    world.put(after_s=30 * HOUR_S)
    world.clock.sleep(60)
    assert world.shard(After(read.number)).state is State.DOUBTFUL


def test_an_oldest_record_that_cannot_be_seen(world: World) -> None:
    """A search that shows nothing proves nothing: whether later records have expired is unknown, too."""
    cut = After(world.put().number)
    unread = Unread(world.put(after_s=30 * HOUR_S), 0)
    times = Times(24 * HOUR_S * 1000, world.stream.now_ms())
    found = judge(Measurement(A, cut, Position(cut, "x")), unread, Unseen(), times)
    assert found.state is State.DOUBTFUL


def test_an_old_time(world: World) -> None:
    """
    A position at a time before the retention is where a reader began, in a shard without records since. A young record is the first one,
    unless the offset says of an old time that it was the last one at which nothing had come.
    """
    world.stream.forgets = True
    began_ms = world.stream.now_ms()
    world.put(after_s=30 * HOUR_S)
    world.clock.sleep(60)
    assert world.shard(AtTimestamp(began_ms)).state is State.BEHIND
    assert world.shard(Position(AtTimestamp(began_ms), "x", began_ms)).state is State.DOUBTFUL


def test_a_time_that_is_kept(world: World) -> None:
    """Where the offset says that nothing arrived before a recent time, nothing is lost."""
    world.stream.forgets = True
    read = world.put()
    world.put(after_s=30 * HOUR_S)
    world.clock.sleep(60)
    seen_ms = world.stream.now_ms() - HOUR_S * 1000
    assert world.shard(Position(After(read.number), "x", seen_ms)).state is State.BEHIND


@pytest.mark.parametrize(("kept_hours", "state"), [(24, State.DOUBTFUL), (None, State.BEHIND)])
def test_a_retention_that_was_raised(world: World, kept_hours: int | None, state: State) -> None:
    """It brings nothing back: what the reader says of the retention counts, where it does."""
    world.stream.forgets = True
    read = world.put()
    world.put()
    world.put(after_s=30 * HOUR_S)
    world.stream.retain(168)
    world.clock.sleep(60)
    position = Position(After(read.number), "x", read.arrived_ms, kept_hours=kept_hours)
    assert world.shard(position).state is state


def test_an_unread_record_that_is_gone(world: World) -> None:
    """A position before a record that has expired is certain: that one is lost."""
    world.stream.forgets = True
    unread = world.put()
    world.put(after_s=30 * HOUR_S)
    assert world.shard(At(unread.number)).state is State.EXPIRED


def test_a_number_that_is_no_records(world: World) -> None:
    """A position between two records that are left is in order, whatever its number is."""
    first, _ = world.put(), world.put(after_s=5)
    calls = sum(world.stream.calls.values())
    found = world.shard(After(first.number + 1))
    assert found.state is State.BEHIND
    assert sum(world.stream.calls.values()) - calls == 6  # the oldest record was looked up


def test_an_idle_shard(world: World) -> None:
    """A reader of a shard whose records have all expired is current: there is nothing to read."""
    world.stream.forgets = True
    read = world.put()
    world.clock.sleep(30 * HOUR_S)
    found = world.shard(After(read.number))
    assert (found.state, found.lag_ms) == (State.CURRENT, 0)
    assert "the shard is empty" in found.note


def test_a_finished_shard(world: World) -> None:
    """A shard that was read to its end takes no call, and its children are read from their oldest record."""
    world.put()
    left, _ = world.stream.split(A)
    world.put(left)
    world.clock.sleep(10)
    lag = world.reader(ShardEnd())
    assert [(each.shard_id, each.state, each.lag_ms) for each in lag.shards] == [
        (A, State.FINISHED, 0),
        (B, State.BEHIND, 10_000),
        (C, State.CURRENT, 0),
    ]
    assert (lag.unfinished, lag.behind, lag.lag_ms) == (2, 1, 10_000)
    assert A not in world.stream.by_shard


def test_a_waiting_child(world: World) -> None:
    """A child waits for its parent. Its own records count, as the reader may have stopped before the parent's end."""
    read = world.put()
    left, _ = world.stream.split(A)
    world.clock.sleep(100)
    world.put(left)
    world.clock.sleep(10)
    lag = world.reader(After(read.number))
    assert [(each.state, each.lag_ms) for each in lag.shards] == [
        (State.CURRENT, 0),
        (State.WAITING, 10_000),
        (State.WAITING, 0),
    ]
    assert (lag.behind, lag.lag_ms) == (1, 10_000)


def test_a_merged_child(world: World) -> None:
    """A child of a merge waits until both parents are finished."""
    world.stream.split(A)
    world.stream.merge(B, C)
    lag = world.reader(ShardEnd(), **{B: Position(ShardEnd(), ""), C: Position(TrimHorizon(), "")})
    assert {each.shard_id: each.state for each in lag.shards}[D] is State.WAITING


def test_a_gone_shard(world: World) -> None:
    """A shard that has left the stream unfinished may have taken records with it."""
    world.stream.forgets = True
    read = world.put()
    world.stream.split(A)
    world.clock.sleep(30 * HOUR_S)
    lag = world.reader(After(read.number))
    assert lag.shards[0].state is State.GONE
    assert (lag.lost, lag.shards[0].lag_ms) == (1, None)


def test_a_recreated_stream(world: World) -> None:
    """A checkpoint of a stream that was deleted and created again is a problem of its reader, and no lag."""
    reading = Reading(reader="cp", kind="spark", positions={A: Position(After(1), "")}, created_ms=5)
    lag = world.measure({READER: reading})["cp"]
    assert "deleted and created again" in str(lag.problem)
    assert lag.shards == ()
    assert lag.lag_ms is None


def test_a_number_of_another_stream(world: World) -> None:
    """Positions that Kinesis refuses in all shards are a problem of the reader, with the reason."""
    read = world.put()
    world.stream.recreate(1)
    found = world.reader(After(read.number))
    assert str(found.problem).startswith("cp has positions of another stream, or of one that was deleted and")
    assert "did not come from this stream" in str(found.problem)
    assert (found.shards, found.lag_ms, found.lost) == ((), None, 0)


def test_one_reader_of_two_fails(world: World) -> None:
    """The problem of one reader does not hide the other ones."""
    last = world.put()

    def read(reader: Reader, _: StreamSummary) -> list[Reading]:
        if reader.name == "broken":
            raise CommandError("broken cannot be read.")
        return [Reading(reader=reader.name, kind="spark", positions={A: Position(After(last.number), "")})]

    readers = [Checkpoint("broken"), Checkpoint("fine")]
    lag = measure(world.stream, readers, read, world.clock)
    assert [(each.reader, each.problem, each.lag_ms) for each in lag.readers] == [
        ("broken", "broken cannot be read.", None),
        ("fine", None, 0),
    ]


@define
class Refusing(FakeStream):
    """A stream whose GetRecords is replaced."""

    respond: Callable[[int], Page] = field(default=lambda _: Page([], 0))
    asked: int = 0

    def get_records(self, *_: object, **__: object) -> Page:
        self.asked += 1
        return self.respond(self.asked)


def refusing(world: World, respond: Callable[[int], Page]) -> Refusing:
    stream = Refusing(world.clock, random.Random(0), respond=respond)
    world.stream = stream.create(1)
    return stream


def test_stuck_at_the_retention(world: World) -> None:
    """Pages that stay empty while the lag stays at the retention are not followed for ever. The oldest record shows what has expired."""
    world.stream = stream = ScriptedStream(world.clock, is_stuck_when_trimmed=True)
    stream.create(1)
    read, _, left = world.put(), world.put(), world.put()
    stream.trim(A, 2)
    found = world.shard(After(read.number))
    assert (found.state, found.lag_ms) == (State.EXPIRED, 24 * HOUR_S * 1000)
    assert len(stream.calls_of("GetRecords")) == STALLED_PAGES + 1
    assert world.shard(After(left.number)).state is State.CURRENT


@pytest.mark.parametrize(
    ("cut", "is_left", "standing", "state"),
    [
        (After(5), False, Expired(None), State.EXPIRED),
        (After(5), False, Unseen(), State.DOUBTFUL),
        (After(5), False, Passed(Record("4"), is_absent=False), State.BEHIND),
        (After(5), True, None, State.BEHIND),
        (TrimHorizon(), False, None, State.BEHIND),
        (AtTimestamp(0), False, None, State.BEHIND),
    ],
)
def test_a_gap_as_long_as_the_retention(
    cut: Cut, is_left: bool, standing: Standing | None, state: State
) -> None:
    """Empty pages prove no loss: the position's record or an older one may be left, and after a time Kinesis finds the oldest record."""
    day_ms = 24 * HOUR_S * 1000
    look = Unread(None, day_ms, is_left)
    measurement, times = Measurement(A, cut, Position(cut, "x")), Times(day_ms, 2 * day_ms)
    assert needs_standing(measurement, look, times) is (standing is not None)
    assert judge(measurement, look, standing, times).state is state


def test_a_long_gap(world: World) -> None:
    """Where no record is found in a gap, MillisBehindLatest of the last page counts."""
    refusing(world, lambda asked: Page([], 3_600_000 - 1000 * asked, "0"))
    found = world.shard(After(5))
    assert (found.state, found.lag_ms) == (State.BEHIND, 3_600_000 - 1000 * STALLED_PAGES)


def test_a_record_without_a_time(world: World) -> None:
    """A record without an arrival time counts by MillisBehindLatest."""
    refusing(world, lambda _: Page([Record("7")], 4000, "0"))
    assert world.shard(TrimHorizon()).lag_ms == 4000


def _raise(error: Exception) -> Page:
    raise error


def test_throttled_for_ever(world: World) -> None:
    """A shard that is throttled again and again is not known, and does not stop the others."""
    stream = refusing(world, lambda _: _raise(ThrottledError("Rate exceeded", "Throttling")))
    found = world.shard(After(5))
    assert (found.state, found.note) == (State.UNKNOWN, "Rate exceeded")
    assert stream.asked == MAX_THROTTLES + 1


def test_the_shard_leaves_meanwhile(world: World) -> None:
    """A shard that leaves the stream between listing and reading is gone."""
    refusing(world, lambda _: _raise(StreamNotFoundError("no such shard", "ResourceNotFoundException")))
    assert world.shard(After(5)).state is State.GONE


def test_what_concerns_all_shards(world: World) -> None:
    """A missing permission is an error of the command."""
    refusing(world, lambda _: _raise(AccessDeniedError("not allowed", "AccessDeniedException")))
    with pytest.raises(AccessDeniedError):
        world.shard(After(5))


def test_what_concerns_one_position(world: World) -> None:
    """A position that is refused in one shard of several is not known. The note has the reason."""
    no = InvalidRequestError("no", "InvalidArgumentException")
    children = refusing(world, lambda asked: _raise(no) if asked == 1 else Page([], 0, "0")).split(A)
    reading = Reading(
        reader="cp", kind="spark", positions={each: Position(After(5), "") for each in children}
    )
    found = world.measure({READER: reading})["cp"]
    assert found.problem is None
    assert [shard.note[:2] for shard in found.shards if shard.state is State.UNKNOWN] == ["no"]
