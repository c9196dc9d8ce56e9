"""Workers of one group that name different streams: each shard is read by a worker that knows its stream, and no lease goes back and forth."""

from __future__ import annotations

import pytest

from kinesis_consumer import ConsumerGroup
from kinesis_consumer.leases import assign, new_item
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.leases import LEASE_OWNER, OLDEST, Item, Lease
from support.consumer_groups import leases_of, new_group, new_stream
from support.fake_stream import FakeClock, FakeStream

ORDERS, TEAS = "1:orders:1", "1:teas:1"


class Table(MemoryTable):
    """A table that counts how often leases get another owner."""

    switches = 0

    def update(self, update: Update) -> Item | None:
        item = super().update(update)
        self.switches += item is not None and (LEASE_OWNER in update.set or LEASE_OWNER in update.remove)
        return item


class Group:
    """Workers in one thread, each with its streams."""

    def __init__(self) -> None:
        self.clock, self.table = FakeClock(), Table("billing")
        self.streams: dict[str, FakeStream] = {ORDERS: new_stream(4), TEAS: new_stream(4)}
        self.members: dict[str, ConsumerGroup] = {}

    def join(self, name: str, *streams: str) -> ConsumerGroup:
        named = {stream_id: self.streams[stream_id] for stream_id in streams}
        group = new_group(named, self.table, worker=name, clock=self.clock)
        self.members[name] = group
        return group

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            for member in self.members.values():
                member._threads.coordinator.step()
                member._threads.worker.leases.renew()
            self.clock.sleep(0.5)

    def owners(self, stream_id: str) -> list[str]:
        leases = leases_of(self.table).values()
        return sorted(str(lease.owner) for lease in leases if lease.stream_id == stream_id)


def ignored(caplog: pytest.LogCaptureFixture) -> list[str]:
    return sorted(text for text in caplog.messages if text.startswith("stream.ignored"))


def test_a_stream_is_read_by_those_that_name_it() -> None:
    """A worker that knows less takes nothing else, whoever leads. After that no lease moves."""
    group = Group()
    group.join("both", ORDERS, TEAS)
    group.run(10)
    group.join("old-1", ORDERS)
    group.join("old-2", ORDERS)
    group.run(40)
    switches = group.table.switches
    group.run(60)
    assert group.owners(TEAS) == ["both"] * 4
    assert group.table.switches == switches


def test_a_stream_waits_for_a_worker_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    """Leases of a stream that nobody names stay without an owner and without writes, and go to the next worker that names it."""
    group = Group()
    group.join("both", ORDERS, TEAS)
    group.run(10)
    group.members.pop("both")._threads.coordinator.close()
    group.join("old-1", ORDERS)
    group.join("old-2", ORDERS)
    group.run(40)
    switches = group.table.switches
    group.run(60)
    assert group.owners(ORDERS) == ["old-1", "old-1", "old-2", "old-2"]
    assert group.owners(TEAS) == ["None"] * 4
    assert group.table.switches == switches
    assert 1 <= len(ignored(caplog)) <= 2
    group.join("new", ORDERS, TEAS)
    group.run(40)
    assert group.owners(TEAS) == ["new"] * 4


def test_a_leader_that_gives_any_lease_to_anybody(caplog: pytest.LogCaptureFixture) -> None:
    """A lease of another stream that a KCL's leader gives to a worker is released, with one warning for the stream."""
    group = Group()
    worker = group.join("old", ORDERS)._threads.worker
    for shard in range(3):
        lease = Lease(f"shardId-{shard:012}", OLDEST, TEAS)
        group.table.create(lease.key, new_item(lease))
        assert group.table.update(assign(lease, "old")) is not None
    worker.leases.discover()
    assert worker.leases.shards.held() == set()
    assert group.owners(TEAS) == ["None"] * 3
    assert ignored(caplog) == [f"stream.ignored stream={TEAS} worker=old"]
