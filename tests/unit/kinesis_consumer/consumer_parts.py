"""Parts of a consumer group's worker over streams and tables in memory, without threads."""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_consumer.delivery import Batch, GroupStream, ShardReader
from kinesis_consumer.leases import updates
from kinesis_consumer.leases.held import HeldLease
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.worker import Callbacks, LeaseHolder, Worker
from kinesis_core.budget import ByteBudget
from kinesis_core.leases import OLDEST, Lease, LeaseCheckpoint, identify_stream, read_lease
from kinesis_core.planning import PlanSettings, ShardPages
from support.fake_stream import FakeClock, FakeStream
from unit.kinesis_consumer.lease_faults import FaultyTable


@define
class OneShard:
    """One shard, its lease, and readers of it one after the other, as of workers that crash."""

    stream: FakeStream
    clock: FakeClock
    table: FaultyTable = field(factory=FaultyTable)
    settings: GroupSettings = field(factory=GroupSettings)
    shard_id: str = "shardId-000000000000"
    _workers: int = 0

    @staticmethod
    def new(settings: GroupSettings | None = None, checkpoint: LeaseCheckpoint = OLDEST) -> OneShard:
        clock = FakeClock()
        shard = OneShard(FakeStream(clock).create(1), clock, settings=settings or GroupSettings())
        lease = Lease(shard.shard_id, checkpoint)
        shard.table.create(lease.key, updates.new_item(lease))
        return shard

    def lease(self) -> Lease:
        item = self.table.table.get(self.shard_id)
        assert item is not None
        return read_lease(item)

    def take(self, worker: str | None = None) -> HeldLease:
        """Return the lease, taken by a new worker."""
        self._workers += 1
        name = worker or f"worker-{self._workers}"
        sent_s = self.clock.now_s()
        item = self.table.table.update(updates.assign(self.lease(), name))
        assert item is not None
        return HeldLease.of(
            read_lease(item), name, self.table, self.clock, self.settings.lease_duration_s, sent_s
        )

    def reader(self, *, fail_on_data_loss: bool = True, initial_ms: int | None = None) -> ShardReader:
        """Return a reader of a new worker that takes the lease."""
        source = self.source(fail_on_data_loss=fail_on_data_loss, initial_ms=initial_ms)
        memory = ByteBudget(self.settings.max_buffered_bytes)
        return ShardReader(self.take(), source, commit, self.settings, self.clock, memory)

    def source(self, *, fail_on_data_loss: bool = True, initial_ms: int | None = None) -> GroupStream:
        """Return the stream as a group has opened it."""
        plan = PlanSettings(fail_on_data_loss=fail_on_data_loss)
        pages = ShardPages.of("orders", self.stream, plan, self.clock, random.Random(1))
        summary = pages.begin()
        stream_id = identify_stream(summary.arn, summary.created_ms)
        return GroupStream("orders", pages, self.stream, initial_ms, stream_id)

    def worker(self, callbacks: Callbacks | None = None) -> Worker:
        """Return the worker "w", which has no lease yet."""
        sources: dict[str | None, GroupStream] = {None: self.source()}
        leases = LeaseHolder("w", self.table, sources, self.settings, self.clock, callbacks or Callbacks())
        return Worker(leases)

    def give(self, worker: Worker, lease: Lease | None = None) -> None:
        """Let *worker* have a lease: that of the shard, if no other one is given."""
        item = self.table.table.update(updates.assign(lease or self.lease(), worker.leases.name))
        assert item is not None
        worker.leases.gain(read_lease(item), self.clock.now_s())


def commit(reader: ShardReader, batch: Batch | None) -> Batch | None:
    """Commit a batch by its reader, and return the next one if its end is fixed."""
    assert batch is not None
    reader.write_commit(batch)
    return reader.take()


def data(batch: Batch | None) -> list[bytes]:
    """Return the data of the records in *batch*."""
    assert batch is not None
    return [record.data for record in batch.records()]
