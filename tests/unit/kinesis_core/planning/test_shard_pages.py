"""Pages of single shards, for consumers that keep their positions by themselves."""

from __future__ import annotations

import random

import pytest
from attrs import define, field

from kinesis_core.errors import DataLossError, StreamRecreatedError
from kinesis_core.model import After, At, Page, Record, ShardOffset, TrimHorizon
from kinesis_core.planning import PlanSettings, ShardPages
from kinesis_core.shards import VISIT_PAGES
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood
from support.scripted_stream import scripted_stream

SHARD = "shardId-000000000000"


def test_a_refused_call_does_not_show_the_tip() -> None:
    """A throttled call says nothing of the tip, although the page before it was at the tip."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    start = ShardOffset(TrimHorizon())
    assert pages.next(SHARD, start, 10).is_tip
    stream.mood = Mood(throttles=100)
    refused = pages.next(SHARD, start, 10)
    assert (refused.page.records, refused.end, refused.is_tip) == ([], start, False)


def test_the_lag_of_a_shard() -> None:
    """A shard has no lag before its first page, and none in milliseconds at its tip."""
    clock = FakeClock()
    stream = FakeStream(clock).create(2)
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    pages.next(SHARD, ShardOffset(TrimHorizon()), 10)
    assert (pages.lag_ms(SHARD), pages.lag_ms("shardId-000000000001")) == (0, None)


@pytest.mark.parametrize("left", [0, 2])
def test_a_retention_that_is_raised_after_a_loss(left: int) -> None:
    """A consumer that did not read for longer than the retention is told, however long the retention is when it goes on."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    stream.forgets = True
    stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    read = pages.next(SHARD, ShardOffset(TrimHorizon()), 10).end
    stream.put(SHARD, b"lost")
    clock.sleep(30 * 3600)
    for _ in range(left):
        stream.put(SHARD, b"x")
    stream.retain(168)
    with pytest.raises(DataLossError, match="may have expired"):
        pages.next(SHARD, read, 10)


def test_a_position_whose_record_is_gone() -> None:
    """Its time, as a consumer kept it, may be another one than the arrival of the record."""
    clock = FakeClock()
    stream = FakeStream(clock).create(1)
    record = stream.put(SHARD, b"x")
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    assert pages.resume(SHARD, record.number, 1, 17) == ShardOffset(After(record.number), record.arrived_ms)
    stream.trim(SHARD, 1)
    assert pages.resume(SHARD, record.number, 1, 17) == ShardOffset(After(record.number), 17, was_empty=True)


@pytest.mark.parametrize("empty_until_ms", [None, 17])
@pytest.mark.parametrize("gap", [1, VISIT_PAGES + 1])
def test_a_position_inside_an_aggregate_after_a_gap(gap: int, empty_until_ms: int | None) -> None:
    """An empty page does not show that the record is gone, nor does an older one: the rest of its user records is still to be read."""
    stream = scripted_stream()
    stream.put(SHARD, b"older")
    record = stream.put(SHARD, aggregate([("k", None, b"x")] * 2))
    stream.gaps[SHARD, 1] = gap
    pages = ShardPages.of("orders", stream, PlanSettings(), stream.clock, random.Random(1))
    pages.begin()
    start = pages.resume(SHARD, record.number, 1, empty_until_ms)
    assert start == ShardOffset(At(record.number, 1), record.arrived_ms)


@define
class Resumed:
    """A consumer that committed a record, stopped for 30 h, and resumes. 100 records that came after the commit have expired."""

    clock: FakeClock = field(factory=FakeClock)
    stream: FakeStream = field(init=False)
    committed: Record = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stream = FakeStream(self.clock).create(1)
        self.stream.forgets = True
        self.committed = self.stream.put(SHARD, b"committed")

    def pages(self, *, fail_on_data_loss: bool = True) -> ShardPages:
        settings = PlanSettings(fail_on_data_loss=fail_on_data_loss)
        pages = ShardPages.of("orders", self.stream, settings, self.clock, random.Random(1))
        pages.begin()
        return pages

    def lose(self, left_h: float | None) -> Resumed:
        """Let 100 records expire. *left_h*: the age of the records that are left; None if there are none."""
        for _ in range(100):
            self.stream.put(SHARD, b"lost")
        self.clock.sleep((30 - (left_h or 0)) * 3600)
        if left_h is not None:
            self.stream.put(SHARD, b"left")
            self.clock.sleep(left_h * 3600)
        return self


@pytest.mark.parametrize("left_h", [None, 0, 10, 23.9])
@pytest.mark.parametrize("user_records", [0, 1])
def test_a_position_of_a_kcl_that_has_expired(left_h: float | None, user_records: int) -> None:
    """
    A KCL keeps no time beside its position. Once the record is gone, records after it may have been lost, however old those are
    that are left. Without `fail_on_data_loss` reading continues at the oldest record.
    """
    resumed = Resumed().lose(left_h)
    with pytest.raises(DataLossError, match=f"record {resumed.committed.number} .*expired"):
        resumed.pages().resume(SHARD, resumed.committed.number, user_records, None)
    pages = resumed.pages(fail_on_data_loss=False)
    start = pages.resume(SHARD, resumed.committed.number, user_records, None)
    assert start == ShardOffset(TrimHorizon())
    assert len(pages.next(SHARD, start, 10).page.records) == (left_h is not None)


def test_a_position_before_which_records_are_left() -> None:
    """No record after it has expired, because those before it expire first: its own is none that ever was."""
    resumed = Resumed()
    number, arrived_ms = resumed.committed.number, resumed.committed.arrived_ms
    start = resumed.pages().resume(SHARD, number + 2, 1, None)
    assert start == ShardOffset(After(number + 2), arrived_ms, was_empty=True)


def test_a_position_in_a_young_stream() -> None:
    """Nothing can have expired in a stream that is younger than a day, although the record of the position is gone."""
    clock = FakeClock()
    stream = FakeStream(clock, created_ms=int(clock.now * 1000)).create(1)
    record = stream.put(SHARD, b"x")
    stream.trim(SHARD, 1)
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    start = pages.resume(SHARD, record.number, 1, None)
    assert start == ShardOffset(After(record.number), stream.created_ms, was_empty=True)


@pytest.mark.parametrize("left_h", [None, 10])
def test_a_retention_that_was_raised_meanwhile(left_h: float | None) -> None:
    """A position with a time says also for how long records were kept then. A longer retention brings nothing back."""
    resumed = Resumed()
    number, until_ms, hours = (
        resumed.committed.number,
        resumed.committed.arrived_ms,
        resumed.pages().kept_hours(),
    )
    assert hours == 24
    resumed.lose(left_h).stream.retain(168)
    pages = resumed.pages()
    pages.see_kept_hours(hours)
    start = pages.resume(SHARD, number, 1, until_ms)
    with pytest.raises(DataLossError, match="may have expired"):
        pages.next(SHARD, start, 10)


def test_the_known_retention_costs_no_call() -> None:
    """It is asked for after a page, which must not get lost because a call fails."""
    resumed = Resumed()
    pages = resumed.pages()
    resumed.clock.sleep(3600)
    calls = dict(resumed.stream.calls)
    assert pages.kept_hours() == 24
    assert resumed.stream.calls == calls


def test_a_stream_that_was_created_again_is_noticed_though_no_call_shows_it() -> None:
    """What iterators of a deleted stream answer is not documented. If they go on without a record, ten minutes pass at most."""

    class SilentStream(FakeStream):
        def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
            if int(iterator) < self._created_iterator:
                return Page([], 0, iterator)
            return super().get_records(iterator, limit, with_data, shard_id)

    clock = FakeClock()
    stream = SilentStream(clock).create(1)
    pages = ShardPages.of("orders", stream, PlanSettings(), clock, random.Random(1))
    pages.begin()
    start = pages.next(SHARD, ShardOffset(TrimHorizon()), 10).end
    clock.sleep(60)
    stream.recreate(2)
    for _ in range(8):
        clock.sleep(60)
        start = pages.next(SHARD, start, 10).end
    clock.sleep(61)
    with pytest.raises(StreamRecreatedError):
        pages.next(SHARD, start, 10)
