"""How a worker releases leases, without threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import define, field

from kinesis_consumer.leases import updates
from kinesis_consumer.stores import Update
from kinesis_consumer.worker import Callbacks, Worker
from kinesis_core.leases import FINISHED, LEASE_OWNER, OLDEST, Item, Lease, LeaseCheckpoint
from unit.kinesis_consumer.consumer_parts import OneShard


@define
class OneWorker:
    """A worker with one lease, and what its callbacks were called with."""

    shard: OneShard
    calls: list[str] = field(factory=list)
    on_request: Callable[[], None] = lambda: None
    worker: Worker = field(init=False)

    @staticmethod
    def new(checkpoint: LeaseCheckpoint = OLDEST) -> OneWorker:
        one = OneWorker(OneShard.new(checkpoint=checkpoint))
        callbacks = Callbacks(
            hand_over_requested=lambda *_: one.requested(), lease_lost=lambda *_: one.calls.append("lost")
        )
        one.worker = one.shard.worker(callbacks)
        one.shard.give(one.worker)
        return one

    def requested(self) -> None:
        self.calls.append("requested")
        self.on_request()

    def write(self, update: Update) -> Item:
        """Change the lease as another worker does."""
        item = self.shard.table.table.update(update)
        assert item is not None
        return item

    def begin_hand_over(self) -> None:
        self.write(updates.begin_hand_over(self.shard.lease(), "next"))
        self.renew()

    def renew(self) -> None:
        """Renew the lease when that is due."""
        self.shard.clock.sleep(self.shard.settings.lease_duration_s / 2)
        self.worker.leases.renew()

    def take_a_batch(self) -> None:
        self.shard.stream.put(self.shard.shard_id, b"order")
        for reader in self.worker.leases.shards.readers():
            self.worker.advance(reader)
        assert self.worker.take() is not None


def test_a_hand_over_is_logged_when_it_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, with the worker that is to have the shard. The release follows later."""
    caplog.set_level("INFO")
    one = OneWorker.new()
    one.take_a_batch()
    one.begin_hand_over()
    one.renew()
    requested = [line for line in caplog.messages if line.startswith("handover.requested")]
    assert requested == ["handover.requested lease=shardId-000000000000 worker=w next=next"]
    assert "lease.released" not in caplog.text


def test_a_hand_over_that_begins_again_has_its_whole_time_again() -> None:
    """A leader may take a hand-over back. The program is asked again when the next one begins, and may take as long for it."""
    one = OneWorker.new()
    one.take_a_batch()
    one.begin_hand_over()
    one.write(updates.assign(one.shard.lease(), "w"))
    for _ in range(10):
        one.renew()
    assert one.worker.leases.shards.held()
    one.begin_hand_over()
    assert one.calls == ["requested", "requested"]
    assert one.worker.leases.shards.held()


@pytest.mark.parametrize("has_batch", [True, False])
def test_a_lease_may_be_released_while_a_hand_over_is_announced(has_batch: bool) -> None:
    """The program may leave the group meanwhile. The lease is released once."""
    one = OneWorker.new()
    if has_batch:
        one.take_a_batch()
    one.on_request = lambda: one.worker.leases.release_all({}, only_idle=False)
    one.begin_hand_over()
    assert one.calls == ["requested", "lost"]
    assert one.shard.lease().owner == "next"
    assert one.shard.lease().checkpoint_owner is None


def test_the_lease_of_a_finished_shard_is_handed_over() -> None:
    """No batch of it can be in hand, so the next owner has it at once, and the worker keeps it no longer."""
    one = OneWorker.new(FINISHED)
    assert one.worker.leases.shards.held() == {one.shard.shard_id}
    one.begin_hand_over()
    assert (one.shard.lease().owner, one.shard.lease().checkpoint_owner) == ("next", None)
    assert one.worker.leases.shards.held() == set()


@pytest.mark.parametrize("checkpoint", [OLDEST, FINISHED])
def test_a_release_that_fails_is_logged(
    checkpoint: LeaseCheckpoint, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a warning of its own, for a finished shard as well. The worker keeps no such lease: it expires for others."""
    one = OneWorker.new(checkpoint)
    one.shard.table.hook = lambda: "fail"
    one.worker.leases.release_all({}, only_idle=False)
    assert [line.split()[:2] for line in caplog.messages if "failed" in line.split()[0]] == [
        ["release.failed", "lease=shardId-000000000000"]
    ]
    assert one.worker.leases.shards.held() == set()


def test_a_release_that_fails_keeps_no_other_lease() -> None:
    """Leases that were assigned to a worker and not taken up are released one by one, whatever happens to one of them."""
    one = OneWorker.new()
    keys = [f"shardId-{number:012d}" for number in (7, 8)]
    for key in keys:
        one.shard.table.create(key, {**updates.new_item(Lease(key, OLDEST)), LEASE_OWNER: "w"})
    one.shard.table.hook = lambda: "fail" if one.shard.table.calls[-1] == ("update", keys[0]) else ""
    one.worker.leases.release_all({}, only_idle=False)
    items = [one.shard.table.table.get(key) or {} for key in keys]
    assert [item.get(LEASE_OWNER) for item in items] == ["w", None]
