"""Consumer groups over streams and tables in memory, with their threads: no network, and nothing waits for long."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kinesis_consumer import Callbacks, ConsumerGroup, GroupSettings
from kinesis_consumer.delivery import GroupStream
from kinesis_consumer.shards import LeaseKeeper
from kinesis_consumer.stores import ItemTable, MemoryTable
from kinesis_consumer.worker import Coordinator, LeaseHolder, Worker, WorkerThreads
from kinesis_core.clock import Clock, SteadyClock, SystemClock
from kinesis_core.leases import Lease, is_lease, read_lease
from kinesis_core.model import TrimHorizon
from kinesis_core.planning import PlanSettings, ShardPages
from support.fake_stream import FakeClock, FakeStream
from support.waiting import PATIENCE_S

QUICK = GroupSettings(lease_duration_s=3600.0, fetch_interval_s=0.2)
"""No lease expires where a busy machine stands still for some seconds: its batch would be delivered again."""


class QuickClock(SteadyClock):
    """A clock whose seconds pass quickly, as periods of a group are seconds. Its hour, the longest lease, is more than a minute."""

    SPEED = 50

    def now_s(self) -> float:
        return super().now_s() * self.SPEED

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self.SPEED)


def new_stream(shards: int = 1) -> FakeStream:
    return FakeStream(FakeClock()).create(shards)


def new_group(
    streams: FakeStream | Mapping[str, FakeStream],
    table: ItemTable | None = None,
    *,
    settings: GroupSettings = QUICK,
    callbacks: Callbacks | None = None,
    worker: str = "worker-1",
    clock: Clock | None = None,
    wall_clock: Clock | None = None,
) -> ConsumerGroup:
    """Return a group's worker that was not entered. Several streams are given by their ids in leases."""
    by_id: dict[str | None, FakeStream] = (
        {None: streams} if isinstance(streams, FakeStream) else dict(streams.items())
    )
    leases, steady = table or MemoryTable(), clock or QuickClock()
    sources = {stream_id: _source(stream, stream_id) for stream_id, stream in by_id.items()}
    member = LeaseHolder(worker, leases, sources, settings, steady, callbacks or Callbacks())
    keeper = LeaseKeeper(leases, by_id, TrimHorizon(), steady)
    rng = random.Random(1)
    coordinator = Coordinator(member, keeper, steady, wall_clock or SystemClock(), rng)
    return ConsumerGroup("billing", worker, WorkerThreads(Worker(member), coordinator))


def _source(stream: FakeStream, stream_id: str | None) -> GroupStream:
    pages = ShardPages.of(stream.name, stream, PlanSettings(), stream.clock, random.Random(1))
    pages.begin()
    return GroupStream(stream_id or stream.name, pages, stream)


def fill(stream: FakeStream, count: int, shard_id: str | None = None) -> list[bytes]:
    """Put numbered records into one shard, or in turn into all open ones. Returns their data."""
    shards = [shard_id] if shard_id else stream.open_shards()
    return [stream.put(shards[i % len(shards)], b"%d" % i).data for i in range(count)]


def leases_of(table: ItemTable) -> dict[str, Lease]:
    return {lease.key: lease for lease in map(read_lease, filter(is_lease, table.scan()))}


@contextmanager
def in_background(run: threading.Thread) -> Iterator[None]:
    """Run a thread beside the block, and wait for its end after it."""
    run.start()
    yield
    run.join(PATIENCE_S)
    assert not run.is_alive()
