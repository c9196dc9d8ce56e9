"""A query over streams in memory: it plans, reads what was planned, and restarts on request."""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Iterator
from itertools import chain

from attrs import define, field

from kinesis_core.model import Offset, Page, Record, ShardRange, StartingPosition, TrimHorizon
from kinesis_core.planning import Planner, PlanSettings
from kinesis_core.reading import PollingRangeReader, ReadSettings
from kinesis_core.reading.concurrent import read_kept
from support.fake_stream import FakeClock, FakeStream

Read = list[tuple[str, str]]
"""Shard and sequence number of each record, in the order of reading."""


def through_text(offset: Offset) -> Offset:
    """Return the offset as it comes back from Spark's offset log."""
    return Offset.from_json(json.loads(json.dumps(offset.to_json())))


@define
class Planned:
    """What Spark does with a source, without Spark."""

    streams: list[FakeStream]
    position: StartingPosition = field(factory=TrimHorizon)
    settings: PlanSettings = field(factory=PlanSettings)
    threads: int = 1
    page_records: int = 10_000
    planner: Planner = field(init=False)
    start: Offset = field(default=None, init=False)
    _initial: Offset | None = field(default=None, init=False)
    _is_logged: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()
        self.start = self._initial = self.planner.initial_offset(self.position)

    @property
    def clock(self) -> FakeClock:
        return self.streams[0].clock

    def restart(self) -> None:
        """Forget everything but the offset of the last batch. Without one, reading begins at the oldest record once more."""
        apis = {stream.name: stream for stream in self.streams}
        self.planner = Planner(
            apis, self.settings, threads=self.threads, clock=self.clock, rng=random.Random(0)
        )
        is_started = self._initial is not None and self.start is self._initial
        if is_started and not self._is_logged and self.position == TrimHorizon():
            self.start = self._initial = self.planner.initial_offset(self.position)

    def batch(self, *, bounded: bool = True) -> Read:
        """Plan a batch, read it and continue after it. Return nothing when nothing is new."""
        end = self.planner.next_offset(through_text(self.start), bounded=bounded)
        self._is_logged = True  # Spark's first batch may be one without records
        read = self.read(self.start, end)
        self.start = end
        return read

    def batches(self, count: int, *, bounded: bool = True) -> Read:
        """Return what so many plans in a row bring."""
        return [record for _ in range(count) for record in self.batch(bounded=bounded)]

    def read(self, start: Offset, end: Offset) -> Read:
        """Read a batch, group after group."""
        return [
            (r.shard_id, record.sequence_number)
            for r, page in self.pages(start, end)
            for record in page.records
        ]

    def pages(self, start: Offset, end: Offset) -> Iterator[tuple[ShardRange, Page]]:
        """Return the pages of a batch, through offsets that went through text."""
        ranges = chain.from_iterable(self.planner.range_groups(through_text(start), through_text(end)))
        by_name = {stream.name: stream for stream in self.streams}
        settings = ReadSettings(self.page_records, fail_on_data_loss=self.settings.fail_on_data_loss)
        reader = PollingRangeReader(by_name.__getitem__, settings, random.Random(0))
        return ((found, page) for found in ranges for page in read_and_check(found, reader, self.clock))


def read_and_check(
    shard_range: ShardRange, reader: PollingRangeReader, clock: FakeClock
) -> Generator[Page, None, None]:
    """
    Yield the pages of a range by calls. They have the records that came with the range, if any did; without those that have expired
    since then.
    """
    read: list[Record] = []
    for page in reader.read(shard_range, clock):
        read += page.records
        yield page
    for kept in read_kept(shard_range, clock):
        are_whole = reader.settings.fail_on_data_loss
        assert read == [record for record in kept.records if are_whole or record in read]


def everything(stream: FakeStream, *shard_ids: str) -> Read:
    """Return all records of the stream, or of some of its shards, by shard."""
    return [
        (shard.shard_id, record.sequence_number)
        for shard in stream.shards.values()
        if not shard_ids or shard.shard_id in shard_ids
        for record in shard.records
    ]
