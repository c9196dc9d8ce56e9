"""One worker with its coordination, step by step, without threads."""

from __future__ import annotations

import pytest
from attrs import define, field

from kinesis_consumer.delivery.batch import Batch
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import MemoryTable
from kinesis_consumer.worker import Coordinator, Worker
from support.consumer_groups import new_group
from support.fake_stream import FakeClock, FakeStream


@define
class Group:
    """A stream, a table, and workers in one thread."""

    stream: FakeStream
    clock: FakeClock
    settings: GroupSettings
    table: MemoryTable = field(factory=lambda: MemoryTable("billing"))
    workers: dict[str, Worker] = field(factory=dict)

    @staticmethod
    def of(shards: int, settings: GroupSettings | None = None) -> Group:
        clock = FakeClock()
        return Group(FakeStream(clock).create(shards), clock, settings or GroupSettings())

    def join(self, name: str) -> Coordinator:
        group = new_group(
            self.stream,
            self.table,
            settings=self.settings,
            worker=name,
            clock=self.clock,
            wall_clock=self.clock,
        )
        self.workers[name] = group._threads.worker
        return group._threads.coordinator

    def run(self, *members: Coordinator, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            for member in members:
                member.step()
                member.holder.renew()
            self.clock.sleep(0.5)


def take(worker: Worker) -> Batch:
    """Read the shards of a worker until there is a batch."""
    for _ in range(10):
        for reader in worker.leases.shards.readers():
            worker.advance(reader)
        if (batch := worker.take()) is not None:
            return batch
    raise AssertionError("there is no batch")


def test_no_worker_gets_more_leases_than_the_setting_says() -> None:
    """The leader keeps to `max_leases`. Other shards wait for another worker."""
    group = Group.of(5, GroupSettings(max_leases=2))
    first = group.join("first")
    group.run(first, seconds=5)
    assert len(first.holder.shards.held()) == 2
    second = group.join("second")
    group.run(first, second, seconds=5)
    assert (len(first.holder.shards.held()), len(second.holder.shards.held())) == (2, 2)


def test_a_hand_over_may_take_as_long_as_the_setting_says() -> None:
    """While a batch is in hand, its lease stays for `hand_over_timeout_s`. The leader waits as long, and a lease's duration more."""
    group = Group.of(2, GroupSettings(hand_over_timeout_s=120))
    first = group.join("first")
    group.run(first, seconds=5)
    for shard in group.stream.open_shards():
        group.stream.put(shard, b"order")
    batches = [take(group.workers["first"]), take(group.workers["first"])]
    second = group.join("second")
    group.run(first, second, seconds=100)
    assert all(batch.is_ours for batch in batches)
    group.run(first, second, seconds=30)
    assert [batch.is_ours for batch in batches].count(True) == 1
    assert len(second.holder.shards.held()) == 1


def unassigned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in caplog.messages if text.startswith("shards.unassigned")]


def test_shards_that_nobody_may_read_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Once for each number, after it has stayed for the duration of a lease, and not while somebody has room."""
    group = Group.of(4, GroupSettings(max_leases=1))
    first = group.join("first")
    group.run(first, seconds=8)
    assert unassigned(caplog) == []
    group.run(first, seconds=60)
    assert unassigned(caplog) == ["shards.unassigned shards=3 max_leases=1"]
    second = group.join("second")
    group.run(first, second, seconds=60)
    assert "shards.unassigned shards=2 max_leases=1" in unassigned(caplog)
    others = [group.join(name) for name in ("third", "fourth")]
    caplog.clear()
    group.run(first, second, *others, seconds=60)
    assert unassigned(caplog) == []


def test_shards_that_wait_for_a_worker_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Those of a dead worker wait until its leases expire. The others then have room for them."""
    group = Group.of(4, GroupSettings(max_leases=4))
    first, second = group.join("first"), group.join("second")
    group.run(first, second, seconds=30)
    group.run(first, seconds=60)
    assert len(first.holder.shards.held()) == 4
    assert unassigned(caplog) == []
