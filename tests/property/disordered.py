"""Histories of streams whose arrival times are out of order, to be generated and read between times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from attrs import define, frozen
from hypothesis import strategies as st

from kinesis_core.model import AtTimestamp, Cut, Record
from kinesis_core.shards import MARGIN_MS
from property.histories import reshard
from support.fake_stream import FakeClock, FakeShard, FakeStream, Mood

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
HOUR_S = 3600
RETENTION_HOURS = 24
TIME, SHARD, STREAM = "approximateArrivalTimestamp", "shardId", "streamName"
STREAMS = ("orders", "teas")
SHARDS = tuple(f"shardId-{number:012d}" for number in range(3))
OFF_MS = (0, MARGIN_MS // 2, -MARGIN_MS // 2)
Row = dict[str, Any]
"""The columns of a record that conditions may name, and its sequence number."""
Step = tuple[Any, ...]


@define
class Stream(FakeStream):
    """A stream whose times are out of order by up to the margin."""

    begins_late: bool = False
    """Whether a read from a time begins at the last place where the times pass it, and not at the first."""

    def put(self, shard_id: str, data: bytes, key: str | None = "k") -> Record:
        record = super().put(shard_id, data, key)
        record.arrived_s = (self.now_ms() + self.rng.choice(OFF_MS)) / 1000
        return record

    def _index(self, shard: FakeShard, cut: Cut) -> int:
        if not (self.begins_late and isinstance(cut, AtTimestamp)):
            return super()._index(shard, cut)
        earlier = [i for i, record in enumerate(shard.records) if (record.arrived_ms or 0) < cut.epoch_ms]
        return earlier[-1] + 1 if earlier else 0


@frozen
class History:
    """What happens before a read. The same history leads to the same streams, at the same time."""

    mood: Mood
    begins_late: bool
    shards: int
    steps: Sequence[Step]
    seed: int

    def streams(self) -> dict[str, Stream]:
        clock = FakeClock()
        clock.now += self.seed / 1000  # not only whole seconds
        streams = {
            name: Stream(
                clock,
                random.Random(self.seed),
                self.mood,
                name,
                retention_hours=RETENTION_HOURS,
                begins_late=self.begins_late,
            )
            for name in STREAMS
        }
        for stream in streams.values():
            stream.forgets, stream.created_ms = True, stream.now_ms()
            stream.create(self.shards)
        for step in self.steps:
            match step:
                case ("wait", seconds):
                    clock.sleep(seconds)
                case ("put", name, where, count, every_s):
                    for _ in range(count):
                        shards = streams[name].open_shards()
                        streams[name].put(shards[where % len(shards)], b"x")
                        clock.sleep(every_s)
                case (kind, name, where):
                    reshard(streams[name], kind, where)
        return streams


def rows_of(streams: dict[str, Stream]) -> list[Row]:
    """Return all records that were ever in the streams."""
    return [
        row_of(name, shard.shard_id, record)
        for name, stream in streams.items()
        for shard in (*stream.shards.values(), *stream.gone.values())
        for record in shard.records
    ]


def row_of(stream: str, shard_id: str, record: Record) -> Row:
    return {STREAM: stream, SHARD: shard_id, TIME: at(record.arrived_ms or 0), "number": record.number}


def at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    end_page_of_its_own=st.booleans(),
)
names = st.sampled_from(STREAMS)
puts = st.tuples(
    st.just("put"),
    names,
    st.integers(0, 2),
    st.integers(5, 20),
    st.sampled_from([0.0, 0.0, 0.01, 9.0, 45.0]),
)
short_waits = st.tuples(st.just("wait"), st.sampled_from([40.0, 900.0]))
# No sum of them is near the retention: no record expires while it is read.
long_waits = st.tuples(st.just("wait"), st.sampled_from([7.0 * HOUR_S, 25.0 * HOUR_S]))
reshards = st.tuples(st.sampled_from(["split", "merge"]), names, st.integers(0, 2))
steps = st.lists(st.one_of(puts, puts, short_waits, reshards, reshards, long_waits), max_size=8)
histories = st.builds(
    History,
    moods,
    st.booleans(),
    st.integers(1, 2),
    st.builds(lambda first, steps, last: [first, *steps, last], puts, steps, short_waits),
    st.integers(0, 2**16),
)

offsets_us = st.sampled_from([0, 0, 0, 0, 1, -1, 1000, -1000, 10**7, 10**9, -(10**9), 10**13, -(10**13)])
times = st.tuples(st.integers(0, 200), offsets_us)
"""A record, by its number among all, and how many microseconds after its arrival."""
