"""Reading the latest records of a shard."""

from __future__ import annotations

import random

import pytest

from kinesis_cli.traffic import Bounds, Sample, Window, bounds_for, sample_shard, sample_shards
from kinesis_core import AccessDeniedError
from kinesis_core.model import Page
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
    stream = stream_of(Mood(empty_pages=60))
    fill(stream, 50, 100, 10)
    fill(stream, 500, 100, 10)
    sample = sampled(stream)
    assert sample is not None
    assert sample.is_complete
    assert 499 <= sample.records <= 501
    assert sample.size_bytes == 100 * sample.records


def test_a_busy_shard_is_extrapolated() -> None:
    """A sample that ends before the tip has the rate of the time that it covers."""
    stream = stream_of()
    fill(stream, 1000, 10_000, 10)
    sample = sampled(stream, bounds=Bounds(MIB))
    assert sample is not None
    assert not sample.is_complete
    assert sample.size_bytes < 3 * MIB
    assert 90 < sample.records_per_s < 110


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
    assert sample.is_complete
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
    stream = stream_of()
    fill(stream, 1000, 10_000, 10)
    began = stream.clock.now
    sample = sampled(stream, bounds=Bounds(4 * MIB))
    assert sample is not None
    passed = stream.clock.now - began
    assert stream.calls["GetRecords"] <= 1 + 2 * passed
    assert sample.size_bytes <= MIB * (passed + 1.1)


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
