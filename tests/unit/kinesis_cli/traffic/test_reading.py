"""Reading the latest records of a shard."""

from __future__ import annotations

import random

import pytest

from kinesis_cli.traffic import Sample, Window, bounds_for, sample_shards
from kinesis_cli.traffic.reading import Bounds, sample_shard
from kinesis_cli.traffic.samples import EXACT
from kinesis_core import AccessDeniedError, StreamNotFoundError, ThrottledError
from kinesis_core.model import Cut, Page, Shard
from support.fake_stream import FakeClock, FakeStream, Mood
from support.lineages import name

MIB = 1024 * 1024
BOUNDS = Bounds(2 * MIB)


def stream_of(mood: Mood | None = None, shards: int = 1) -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0), mood or Mood()).create(shards)


def sampled(stream: FakeStream, seconds: float = 10, bounds: Bounds = BOUNDS) -> Sample | None:
    (shard,) = stream.list_shards()
    window = Window.of_last(round(seconds * 1000), stream, 0)
    return sample_shard(stream, shard, window, bounds, stream.clock, random.Random(0))


def fill(stream: FakeStream, count: int, size: int, seconds: float) -> None:
    """Put *count* records of *size* bytes, evenly within so many seconds."""
    for _ in range(count):
        stream.clock.now += seconds / count
        stream.put(name(0), bytes(size - 1), "k")


def test_a_sample_goes_to_the_tip() -> None:
    """A sample has the records of its time and no older ones, across empty pages."""
    stream = stream_of(Mood(empty_pages=60, boasts=50))
    fill(stream, 50, 100, 10)
    fill(stream, 500, 100, 10)
    sample = sampled(stream)
    assert sample is not None
    assert sample.sign == EXACT
    assert 499 <= sample.records <= 501
    assert sample.size_bytes == 100 * sample.records


class Live(FakeStream):
    """A stream to whose first shard records come all the time, also while a sample is taken."""

    per_s = 100.0
    size = 10_000
    came_s = 0.0

    def come(self, until_s: float, per_s: float) -> None:
        """Let *per_s* records a second come until then, and go on at that rate."""
        self.came_s, self.per_s = max(self.came_s, self.clock.now), per_s
        self.clock.now = until_s
        self._catch_up()

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self._catch_up()
        return super().get_records(iterator, limit, with_data, shard_id)

    def _catch_up(self) -> None:
        now = self.clock.now
        while self.per_s and self.came_s + 1 / self.per_s <= now:
            self.clock.now = self.came_s = self.came_s + 1 / self.per_s
            self.put(name(0), bytes(self.size - 1), "k")
        self.clock.now = now


def live(*rates: tuple[float, float], size: int = 1000) -> Live:
    """Return a stream with records of *size* bytes, at each of *rates* for so many seconds."""
    stream = Live(FakeClock(), random.Random(0))
    stream.create(1)
    stream.size = size
    for seconds, per_s in rates:
        stream.come(stream.clock.now + seconds, per_s)
    return stream


@pytest.mark.parametrize("per_s", [150, 400, 1000])
@pytest.mark.parametrize("size", [1000, 5000])
def test_a_busy_shard_is_estimated(per_s: int, size: int) -> None:
    """A sample that may not read all has the rate of parts of the time."""
    sample = sampled(live((20, per_s), size=size), bounds=Bounds(MIB))
    assert sample is not None
    assert sample.sign == "~"
    assert 0.9 * per_s < sample.records_per_s < 1.1 * per_s


def test_an_estimate_reads_as_much_as_it_may() -> None:
    """A sample of a shard that takes 1 MiB a second reads little more than its bytes, at 1 MiB a second."""
    stream = live((40, 1000))
    before = stream.clock.now
    sample = sampled(stream, 30, Bounds(8 * MIB))
    assert sample is not None
    assert stream.clock.now - before < 13
    assert sample.covered_ms == 30_000


@pytest.mark.parametrize(
    "rates", [[(5, 1000), (55, 10)], [(50, 10), (10, 900)], [(20, 0.1), (10, 900), (30, 10)]]
)
def test_a_burst_is_not_taken_for_the_rule(rates: list[tuple[float, float]]) -> None:
    """Wherever a burst is in the time, the estimate is about the average of the time."""
    sample = sampled(live(*rates), 60, Bounds(8 * MIB))
    average = sum(seconds * per_s for seconds, per_s in rates) / 60
    assert sample is not None
    assert average / 3 < sample.records_per_s < 3 * average
    assert not sample.is_hot


def test_more_at_once_than_may_be_read() -> None:
    """Where there is no time to read parts of, what was read is the least that came in all of it."""
    stream = stream_of()
    fill(stream, 6000, 1000, 0.2)
    sample = sampled(stream, 1)
    assert sample is not None
    assert (sample.sign, sample.covered_ms) == ("≥", 1000)
    assert 4 * MIB <= sample.size_bytes < 6_000_000


def test_throttles_in_the_middle() -> None:
    """If other readers take the quota meanwhile, what was read is the least that came."""

    class Contended(Live):
        def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
            if self.calls.get("GetRecords", 0) > 5:
                raise ThrottledError("no")
            return super().get_records(iterator, limit, with_data, shard_id)

    stream = Contended(FakeClock(), random.Random(0))
    stream.create(1)
    stream.come(stream.clock.now + 20, 500)
    sample = sampled(stream, 10, Bounds(2 * MIB))
    assert sample is not None
    assert (sample.sign, sample.covered_ms) == ("≥", 10_000)


def test_a_burst_shows_no_rate() -> None:
    """Records that arrived within a second count as the records of a second."""
    stream = stream_of()
    stream.put(name(0), b"x", "k")
    sample = sampled(stream, 0.003)
    assert sample is not None
    assert (sample.records, sample.records_per_s) == (1, 1.0)


def split_at(stream: FakeStream, before_s: float, after_s: float) -> tuple[Shard, Window]:
    """Put 100 records a second to a shard, split it *before_s* later, and go on with a child. Returns that child."""
    fill(stream, round(100 * before_s), 10, before_s)
    child = stream.split(name(0))[0]
    for _ in range(round(100 * after_s)):
        stream.clock.now += 0.01
        stream.put(child, b"x", "k")
    (shard,) = [one for one in stream.list_shards() if one.shard_id == child]
    return shard, Window.of_last(10_000, stream, 0)


@pytest.mark.parametrize(("before_s", "after_s"), [(20, 4), (20, 15)])
@pytest.mark.parametrize("mood", [Mood(), Mood(empty_pages=50)])
def test_a_young_shard(before_s: float, after_s: float, mood: Mood) -> None:
    """After a split or merge a shard's rate is that of the time since then, and not of the whole window."""
    stream = stream_of(mood)
    shard, window = split_at(stream, before_s, after_s)
    sample = sample_shard(stream, shard, window, BOUNDS, stream.clock, random.Random(0))
    assert sample is not None
    assert sample.sign == EXACT
    assert 85 < sample.records_per_s < 110


def test_an_old_shard_with_few_records() -> None:
    """A child whose parent ended before the window is no young shard, although its first record comes late."""
    stream = stream_of()
    shard, _ = split_at(stream, 5, 0)
    stream.clock.now += 20
    stream.put(shard.shard_id, b"x", "k")
    stream.clock.now += 2
    window = Window.of_last(10_000, stream, 0)
    sample = sample_shard(stream, shard, window, BOUNDS, stream.clock, random.Random(0))
    assert sample is not None
    assert (sample.records, sample.covered_ms) == (1, 10_000)


@pytest.mark.parametrize("mood", [Mood(), Mood(throttles=100)])
def test_a_parent_that_is_gone(mood: Mood) -> None:
    """A parent that has expired, or whose calls others use up, tells nothing."""
    stream = stream_of()
    shard, window = split_at(stream, 20, 4)

    class Without(FakeStream):
        def get_iterator(self, shard_id: str, cut: Cut) -> str:
            if shard_id == name(0):
                raise ThrottledError("no") if mood.throttles else StreamNotFoundError("gone")
            return super().get_iterator(shard_id, cut)

    without = Without(stream.clock, random.Random(0))
    without.shards = stream.shards
    sample = sample_shard(without, shard, window, BOUNDS, stream.clock, random.Random(0))
    assert sample is not None
    assert 35 < sample.records_per_s < 45


def test_a_sample_ends_with_its_time() -> None:
    """A sample ends where it began to read, although as much comes meanwhile as it reads."""

    class Busy(FakeStream):
        def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
            page = super().get_records(iterator, limit, with_data, shard_id)
            fill(self, 150, 10_000, 0.0)
            return page

    stream = Busy(FakeClock(), random.Random(0)).create(1)
    fill(stream, 1000, 10_000, 10)
    sample = sampled(stream, bounds=Bounds(100 * MIB))
    assert sample is not None
    assert sample.sign == EXACT
    assert sample.records < 1500
    assert stream.created_ms == Window.of_last(10**15, stream, stream.created_ms).start_ms


def test_what_came_just_now_counts() -> None:
    """Records of the last second are read to the last one, although the service's clock is known to the second only."""

    class Slow(FakeStream):
        def now_ms(self) -> int:
            return super().now_ms() - 999

    stream = Slow(FakeClock(), random.Random(0)).create(1)
    fill(stream, 3000, 10, 0.5)
    sample = sampled(stream)
    assert sample is not None
    assert sample.records == 3000


def test_readers_keep_their_quota() -> None:
    """A sample takes no more than 2 calls and 1 MiB a second of a shard, of 5 calls and 2 MiB."""
    pages: list[Page] = []

    class Counted(Live):
        def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
            pages.append(super().get_records(iterator, limit, with_data, shard_id))
            return pages[-1]

    stream = Counted(FakeClock(), random.Random(0))
    stream.create(1)
    stream.come(stream.clock.now + 10, 100)
    began = stream.clock.now
    assert sampled(stream, bounds=Bounds(4 * MIB)) is not None
    passed = stream.clock.now - began
    assert len(pages) <= 1 + 2 * passed
    assert sum(len(record.data) for page in pages for record in page.records) <= MIB * (passed + 1.1)


def test_a_throttled_shard_has_no_sample() -> None:
    """A shard whose readers use up its quota is left out, after some attempts."""
    stream = stream_of(Mood(throttles=100))
    assert sampled(stream) is None
    assert 2 < stream.calls["GetRecords"] < 10


def test_many_shards_share_the_bytes() -> None:
    """Of each of thousands of shards less is read."""
    assert bounds_for(4, 2 * MIB).max_bytes == 2 * MIB
    assert bounds_for(10_000, 2 * MIB).max_bytes == MIB // 16


def test_shards_are_sampled_at_once() -> None:
    """Each shard has its own sample. A shard that has expired has none."""
    stream = stream_of(shards=3)
    stream.put(name(1), b"1")
    shards = stream.list_shards()
    stream.shards.pop(name(2))
    samples = sample_shards(
        stream, shards, Window.of_last(1000, stream, 0), BOUNDS, threads=1, clock=stream.clock
    )
    assert {shard_id: sample.records for shard_id, sample in samples.items()} == {name(0): 0, name(1): 1}


def test_an_error_of_a_thread_is_raised() -> None:
    """A call that fails for good ends the sample with its error."""
    stream = stream_of()

    class Denied(FakeStream):
        def get_iterator(self, *_: object) -> str:
            raise AccessDeniedError("no")

    denied = Denied(stream.clock)
    with pytest.raises(AccessDeniedError):
        sample_shards(denied, stream.list_shards(), Window(0, 1), BOUNDS)
