"""What one worker does for its group."""

from __future__ import annotations

import pytest

from kinesis_consumer.assignment import Mode
from kinesis_consumer.leases import new_item, renew
from kinesis_consumer.stores import MemoryTable
from kinesis_core.leases import LEASE_OWNER, OLDEST, Lease
from kinesis_core.model import Shard
from support.consumer_groups import leases_of, new_group, new_stream
from support.fake_stream import FakeClock


@pytest.mark.parametrize(("worker", "creates"), [("wa", False), ("wb", False), ("wc", True)])
def test_one_worker_creates_what_is_missing(worker: str, creates: bool) -> None:
    """In a group without a leader, it is the owner of leases that workers of a KCL expect to do it, too."""
    stream, table, clock = new_stream(4), MemoryTable(), FakeClock()
    listed: list[Shard] = sorted(stream.list_shards(), key=lambda shard: shard.shard_id)
    for shard, owner in zip(listed, ("wa", "wb", "wc"), strict=False):
        lease = Lease(shard.shard_id, OLDEST, hash_range=(shard.hash_start, shard.hash_end))
        table.create(lease.key, {**new_item(lease), LEASE_OWNER: owner})
    group = new_group(stream, table, worker=worker, clock=clock, mode=Mode.TAKING)
    for _ in range(4):
        group._threads.coordinator.step()
        clock.now += 30
        for lease in leases_of(table).values():
            if lease.owner != worker:
                assert table.update(renew(lease)) is not None
    assert (listed[3].shard_id in leases_of(table)) is creates
