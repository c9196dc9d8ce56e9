"""How much is written to a shard, seen by reading along."""

from __future__ import annotations

import random
import threading

from kinesis_cli.live.meter import ShardMeter
from kinesis_core.model import Page
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood
from support.lineages import name
from support.waiting import PATIENCE_S


def meter_of(stream: FakeStream) -> ShardMeter:
    (shard,) = [shard for shard in stream.list_shards() if shard.is_open]
    return ShardMeter(stream, shard, stream.clock, random.Random(0))


def new_stream(mood: Mood | None = None) -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0), mood or Mood()).create(1)


def write(stream: FakeStream, records: int, size: int = 100) -> None:
    """Let a second pass in which so many records come."""
    for _ in range(records):
        stream.clock.now += 1 / records
        stream.put(name(0), bytes(size - 1), "k")
    if not records:
        stream.clock.now += 1


def test_the_rate_of_the_last_seconds() -> None:
    """The rate is that of the last ten seconds, and follows what is written."""
    stream = new_stream(Mood(empty_pages=30))
    meter = meter_of(stream)
    assert meter.sample() is None
    for _ in range(20):
        write(stream, 20)
        meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert 17 < sample.records_per_s < 23
    assert sample.bytes_per_s == 100 * sample.records_per_s
    for _ in range(15):
        write(stream, 0)
        meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert sample.records == 0


def test_user_records() -> None:
    """The user records of aggregates are counted, too. The limits of a shard count an aggregate as one record."""
    stream = new_stream()
    meter = meter_of(stream)
    stream.clock.now += 1
    stream.put(name(0), aggregate([("k", None, b"1"), ("k", None, b"2"), ("k", None, b"3")]), "a")
    stream.put(name(0), b"plain", "k")
    stream.clock.now += 1
    meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert (sample.records, sample.user_records) == (2, 4)


def test_a_rate_at_once() -> None:
    """The first call goes back some seconds, so that there is a rate at once."""
    stream = new_stream()
    for _ in range(6):
        write(stream, 10)
    meter = meter_of(stream)
    meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert 9 < sample.records_per_s < 11


def test_a_hot_shard_is_not_read_in_full() -> None:
    """Of a shard that gets more than a page a second only parts are read, and the rate is right."""
    stream = new_stream()
    meter = meter_of(stream)
    for _ in range(20):
        write(stream, 100, 10_000)
        meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert 85 < sample.records_per_s < 115
    assert sample.size_bytes < 4_000_000
    for _ in range(12):  # what it has skipped is not read later
        write(stream, 0)
        meter.poll()
    sample = meter.sample()
    assert sample is not None
    assert sample.records == 0


def test_throttles_and_expired_iterators_pass() -> None:
    """A throttled call and an expired iterator cost a call, and no error is raised."""
    stream = new_stream(Mood(throttles=30, expiries=30))
    meter = meter_of(stream)
    for _ in range(40):
        write(stream, 10)
        meter.poll()
    assert meter.sample() is not None
    assert not meter.has_ended


def test_the_end_of_a_shard() -> None:
    """A shard that was split, and one that is gone, have ended."""
    stream = new_stream()
    split, gone = meter_of(stream), meter_of(stream)
    stream.split(name(0))
    split.poll()
    assert split.has_ended
    stream.shards.pop(name(0))
    gone.poll()
    assert gone.has_ended


def test_two_threads() -> None:
    """While a call is under way in one thread, another thread reads the shard not at all: no record is counted twice."""
    is_reading, is_over = threading.Event(), threading.Event()

    class Slow(FakeStream):
        def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
            page = super().get_records(iterator, limit, with_data, shard_id)
            if not is_reading.is_set():
                is_reading.set()
                is_over.wait(PATIENCE_S)
            return page

    stream = Slow(FakeClock(), random.Random(0)).create(1)
    meter = meter_of(stream)
    write(stream, 10)
    thread = threading.Thread(target=meter.poll)
    thread.start()
    assert is_reading.wait(PATIENCE_S)
    stream.clock.now += 1
    meter.poll()
    is_over.set()
    thread.join(PATIENCE_S)
    sample = meter.sample()
    assert sample is not None
    assert sample.records == 10
