"""The ends of batch reads in one shard: the tip, a time, a record."""

from __future__ import annotations

import pytest
from attrs import define

from kinesis_core.errors import ThrottledError
from kinesis_core.model import After, At, AtTimestamp, Page, ShardEnd, ShardOffset, TrimHorizon
from kinesis_core.planning import Limits
from kinesis_core.planning.tip import plan_tip, plan_until, plan_up_to
from support.fake_stream import Mood
from support.one_shard import OneShard, end_after
from support.scripted_stream import ScriptedStream, throttle

START = ShardOffset(TrimHorizon())
KIB = 1024
MANY = Limits(max_records=100_000)


@pytest.fixture
def one() -> OneShard:
    return OneShard()


@pytest.mark.parametrize("count", [0, 1, 30, 3000])
@pytest.mark.parametrize("silence_s", [0.0, 1.0, 60.0, 3600.0])
def test_the_tip_is_the_last_record(one: OneShard, count: int, silence_s: float) -> None:
    """However long ago the last record came, the tip is right after it."""
    one.put(count, 0.01)
    one.stream.clock.sleep(silence_s)
    tip = plan_tip(one.state, START)
    assert tip == (end_after(one.records[-1], one.records[0]) if count else START)


def test_the_tip_lies_after_every_gap(one: OneShard) -> None:
    """A tip is looked for through gaps of any length."""
    one.put(5)
    one.stream.gaps[one.shard_id, 0] = 30
    one.stream.gaps[one.shard_id, 3] = 30
    assert plan_tip(one.state, START) == end_after(one.records[-1], one.records[0])


def test_the_search_for_the_tip_continues_after_each_throttle() -> None:
    """Where most calls are throttled, little more is read to find the tip: no throttle restarts the search."""
    helpful, throttled = OneShard(), OneShard(Mood(throttles=80))
    for one in (helpful, throttled):
        one.put(3000, 0.01)
        one.stream.clock.sleep(60)
    tip = plan_tip(helpful.state, START)
    with throttled.state.calls.patiently():
        assert plan_tip(throttled.state, START) == tip
    assert throttled.stream.served < 1.5 * helpful.stream.served


def test_the_tip_after_a_silence_is_found_without_reading_all(one: OneShard) -> None:
    """The backlog of a shard that fell silent is not read just to find its last record."""
    one.put(30_000, 0.1)
    one.stream.clock.sleep(1800)
    tip = plan_tip(one.state, START)
    assert tip == end_after(one.records[-1], one.records[0])
    assert one.stream.served < 11_000  # of which the first look reads 10,000


def test_the_tip_of_a_closed_shard_is_its_end(one: OneShard) -> None:
    """A closed shard is planned to its end, with the first record that lies after the start."""
    one.put(400, 0.02)
    one.stream.split(one.shard_id)
    one.stream.clock.sleep(2)
    end = plan_tip(one.state, START)
    assert (end.cut, end.first) == (ShardEnd(), one.records[0].number)
    assert end.arrived_ms in [record.arrived_ms for record in one.records]


@pytest.mark.parametrize("silence_s", [0.0, 0.1, 2.0])
def test_a_closed_shard_whose_end_is_a_page_of_its_own(silence_s: float) -> None:
    """The page at the tip is not the last one: the end of a closed shard may follow it."""
    one = OneShard(Mood(end_page_of_its_own=True))
    one.put(400, 0.02)
    one.stream.split(one.shard_id)
    one.stream.clock.sleep(silence_s)
    end = plan_tip(one.state, START)
    assert (end.cut, end.first) == (ShardEnd(), one.records[0].number)


def test_a_tip_while_throttled_passes(one: OneShard) -> None:
    """A throttle on the way to the tip is raised as one that passes, and trying again gives the tip."""
    one.put(200, 0.05)
    one.stream.fail("GetRecords", one.shard_id, [throttle(), throttle()])
    for _ in range(2):
        with pytest.raises(ThrottledError):
            plan_tip(one.state, START)
    assert plan_tip(one.state, START) == end_after(one.records[-1], one.records[0])


def test_an_end_in_time_lies_before_the_first_record_from_then_on(one: OneShard) -> None:
    """A batch until a time holds what comes before the first record that arrived then or later."""
    one.put(100, 0.1)
    middle = one.records[40]
    end = plan_until(one.state, START, middle.arrived_ms or 0)
    assert one.between(START.cut, end) == one.records[:40]


def test_an_end_in_time_before_everything_is_the_start(one: OneShard) -> None:
    """Nothing lies between a start and a time before its first record."""
    one.put(10, 0.1)
    assert plan_until(one.state, START, (one.records[0].arrived_ms or 0) - 5) is START
    assert plan_until(one.state, START, one.records[0].arrived_ms or 0) is START


def test_an_end_in_time_after_everything_is_the_tip(one: OneShard) -> None:
    """Until a time that no record has reached yet, everything there is belongs to the batch."""
    one.put(10, 0.1)
    one.stream.clock.sleep(10)
    now_ms = one.stream.now_ms()
    for until_ms in (now_ms - 5000, now_ms, now_ms + 60_000):
        end = plan_until(one.state, START, until_ms)
        assert end == end_after(one.records[-1], one.records[0])


@define
class LateClock(ScriptedStream):
    """A stream whose clock is known to the second, as Date headers have it."""

    def now_ms(self) -> int:
        return super().now_ms() - 900


def test_an_end_in_time_that_has_just_passed() -> None:
    """A time is not taken for a future one because the service's clock is known to the second only."""
    one = OneShard(stream_type=LateClock)
    one.put(2, 0.1)
    until_ms = one.records[1].arrived_ms or 0
    assert until_ms > one.stream.now_ms()
    end = plan_until(one.state, START, until_ms)
    assert one.between(START.cut, end) == one.records[:1]


@define
class Busy(ScriptedStream):
    """A stream into which a record comes after the first look from a time on."""

    late: int = 1

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        is_from_a_time = isinstance(self.log[-1].cut, AtTimestamp)
        page = super().get_records(iterator, limit, with_data, shard_id)
        if is_from_a_time and self.late:
            self.late -= 1
            self.put_many(shard_id, 1)
        return page


def test_an_end_in_time_while_records_come() -> None:
    """A record that comes while the tip is looked for is after the end, if it arrived after that time."""
    one = OneShard(stream_type=Busy)
    one.put(3, 0.1)
    one.stream.clock.sleep(10)
    end = plan_until(one.state, START, one.stream.now_ms())
    assert len(one.records) == 4
    assert one.between(START.cut, end) == one.records[:3]


@pytest.mark.parametrize(("cut", "count"), [(At, 40), (After, 41)])
def test_an_end_at_a_record(one: OneShard, cut: type[At | After], count: int) -> None:
    """An end may be given as a record, in or out of the batch."""
    one.put(100, 0.1)
    end = plan_up_to(one.state, START, cut(one.records[40].number))
    assert one.between(START.cut, end) == one.records[:count]


@pytest.mark.parametrize("cut", [At, After])
def test_an_end_between_two_records(one: OneShard, cut: type[At | After]) -> None:
    """A number that no record has ends the batch before the first record after it."""
    one.put(100, 0.1)
    end = plan_up_to(one.state, START, cut(one.records[40].number - 1))
    assert one.between(START.cut, end) == one.records[:40]


@pytest.mark.parametrize("cut", [At, After])
def test_an_end_out_of_bounds(one: OneShard, cut: type[At | After]) -> None:
    """A number before the start gives the start, one after the last record the tip."""
    records = one.put(10, 0.1)
    first, last = records[0].number, records[-1].number
    start = ShardOffset(After(records[4].number))
    assert plan_up_to(one.state, start, cut(first)) is start
    assert plan_up_to(one.state, START, cut(last + 1)) == end_after(records[-1], records[0])
