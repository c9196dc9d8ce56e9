"""What the log tells of shards that wait for others."""

from __future__ import annotations

import pytest
from attrs import frozen

from kinesis_consumer.leases import new_item, updates
from kinesis_consumer.worker import Worker
from kinesis_core.leases import FINISHED, OLDEST, Lease, LeaseCheckpoint
from unit.kinesis_consumer.consumer_parts import OneShard


@frozen
class Waiter:
    """A worker that reads one of two shards that were split from the first one."""

    shard: OneShard
    children: list[str]
    worker: Worker

    @staticmethod
    def of(parent: LeaseCheckpoint) -> Waiter:
        shard = OneShard.new(checkpoint=parent)
        children = shard.stream.split(shard.shard_id)
        worker, lease = shard.worker(), Lease(children[0], OLDEST, parents=(shard.shard_id,))
        shard.table.create(lease.key, new_item(lease))
        shard.give(worker, lease)
        return Waiter(shard, children, worker)

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            for reader in self.worker.due_readers():
                self.worker.advance(reader)
            self.worker.leases.renew()
            self.shard.clock.sleep(1)


def waits(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged since the last call."""
    found = [text for text in caplog.messages if text.startswith("shard.waiting")]
    caplog.clear()
    return found


def test_a_shard_that_waits_for_its_parent(caplog: pytest.LogCaptureFixture) -> None:
    """A short wait is ordinary. A longer one is logged, again each minute, and not after its end."""
    caplog.set_level("INFO")
    waiter = Waiter.of(OLDEST)
    waiter.run(9)
    assert waits(caplog) == []
    waiter.run(6)
    line = "shard.waiting lease=shardId-000000000001 reason=its parents are not read to their end: shardId-000000000000"
    assert waits(caplog) == [f"{line} waited_s=10"]
    waiter.run(50)
    assert waits(caplog) == []
    waiter.run(60)
    assert waits(caplog) == [f"{line} waited_s=70"]
    parent = updates.checkpoint(waiter.shard.lease(), FINISHED)
    assert waiter.shard.table.update(parent) is not None
    waiter.run(200)
    assert waits(caplog) == []


def test_a_shard_that_cannot_end(caplog: pytest.LogCaptureFixture) -> None:
    """A shard whose child cannot have a lease yet waits, too. An earlier wait for its parents does not count."""
    caplog.set_level("INFO")
    waiter = Waiter.of(OLDEST)
    waiter.run(9)
    first, second = waiter.children
    waiter.shard.stream.merge(first, second)
    assert waiter.shard.table.update(updates.checkpoint(waiter.shard.lease(), FINISHED)) is not None
    waiter.run(9)
    assert waits(caplog) == []
    waiter.run(6)
    reason = "it has ended, and its child is merged from shardId-000000000002, too, which has no lease yet"
    assert waits(caplog) == [f"shard.waiting lease={first} reason={reason} waited_s=10"]
