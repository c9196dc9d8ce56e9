"""Leases that a worker holds."""

from __future__ import annotations

import pytest

from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import updates
from kinesis_consumer.leases.held import HeldLease
from kinesis_consumer.stores import Update
from kinesis_core import UnavailableError
from kinesis_core.leases import FINISHED, LeaseCheckpoint
from support.consumer_parts import OneShard


@pytest.fixture
def shard() -> OneShard:
    return OneShard.new()


@pytest.fixture
def held(shard: OneShard) -> HeldLease:
    return shard.take("me")


def others_take(shard: OneShard) -> None:
    assert shard.table.table.update(updates.take(shard.lease(), "another")) is not None


def test_renewals_grow_the_counter(shard: OneShard, held: HeldLease) -> None:
    """A renewal changes nothing but the counter, which other workers watch."""
    before = shard.lease()
    held.renew()
    assert shard.lease() == held.lease
    assert held.lease.counter == before.counter + 1


def test_a_lease_is_valid_since_its_renewal_was_sent(shard: OneShard, held: HeldLease) -> None:
    """The time of a slow write counts against the lease: others may have seen it as soon as it was sent."""

    def slow() -> str:
        shard.clock.sleep(4)
        return ""

    shard.table.hook = slow
    held.renew()
    shard.clock.sleep(5.9)
    assert held.is_ours
    shard.clock.sleep(0.2)
    assert not held.is_ours


def test_a_lease_that_was_not_renewed_in_time_is_not_written(shard: OneShard, held: HeldLease) -> None:
    """Once the lease duration has passed, the worker writes nothing, even if the store would take it."""
    shard.clock.sleep(10)
    with pytest.raises(LeaseLostError, match="could not be renewed for 10 s"):
        held.checkpoint(FINISHED, None, {})
    assert shard.table.calls[-1][0] == "create"


def test_a_taken_lease_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A renewal fails when another worker has taken the lease, and says who."""
    others_take(shard)
    with pytest.raises(LeaseLostError, match="worker another has it"):
        held.renew()
    assert not held.is_ours


def test_a_deleted_lease_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A renewal does not bring back a lease that was deleted."""
    shard.table.delete(held.key, {})
    with pytest.raises(LeaseLostError, match="it was deleted"):
        held.renew()
    assert shard.table.table.get(held.key) is None


def test_a_lost_response_loses_no_lease(shard: OneShard, held: HeldLease) -> None:
    """A renewal that was made without a response is found by the next one."""
    shard.table.hook = lambda: "lose"
    with pytest.raises(UnavailableError):
        held.renew()
    shard.table.hook = str
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert shard.lease().checkpoint == LeaseCheckpoint("7")
    assert held.is_ours


def test_a_lost_response_of_a_taking_is_noticed(shard: OneShard, held: HeldLease) -> None:
    """A renewal without a response, and then another worker: the lease is lost."""
    shard.table.hook = lambda: "lose"
    with pytest.raises(UnavailableError):
        held.renew()
    shard.table.hook = str
    others_take(shard)
    with pytest.raises(LeaseLostError):
        held.renew()


def test_hand_over(shard: OneShard, held: HeldLease) -> None:
    """A renewal learns that the leader wants the lease for another worker, and keeps it until it is let go."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    held.renew()
    assert (held.is_leaving, held.is_ours) == (True, True)
    held.renew()
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert held.leave(None)
    lease = shard.lease()
    assert (lease.owner, lease.checkpoint_owner, lease.checkpoint) == ("next", None, LeaseCheckpoint("7"))
    assert not held.is_ours


def test_a_commit_during_a_hand_over(shard: OneShard, held: HeldLease) -> None:
    """A commit does not fail when a hand-over has begun since the last write."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert held.is_leaving


def test_leaving_to_another_worker(shard: OneShard, held: HeldLease) -> None:
    """A worker that closes gives its lease to a named worker, or to anybody."""
    assert held.leave("next")
    assert shard.lease().owner == "next"
    assert shard.take("me").leave(None)
    assert shard.lease().owner is None


def test_a_lease_is_not_ours_while_it_is_let_go(shard: OneShard, held: HeldLease) -> None:
    """The next owner may begin before this worker hears that its write was made. Until then the lease is not done with."""
    seen: list[tuple[bool, bool]] = []

    def slow() -> str:
        seen.append((held.is_ours, held.is_lost))
        return ""

    shard.table.hook = slow
    assert held.leave("next")
    assert seen == [(False, False)]
    assert (held.is_ours, held.is_lost) == (False, True)


def test_nothing_is_left_that_others_have(shard: OneShard, held: HeldLease) -> None:
    """A worker that lost its lease does not let it go: that would be the lease of another."""
    others_take(shard)
    assert not held.leave(None)
    assert shard.lease().owner == "another"


def test_a_commit_removes_the_pending_checkpoint(shard: OneShard, held: HeldLease) -> None:
    """A commit without a next batch leaves nothing pending."""
    held.set_pending((LeaseCheckpoint("8", 2), "1 TRIM_HORIZON 7 8/2"), {})
    assert shard.lease().pending == LeaseCheckpoint("8", 2)
    held.checkpoint(LeaseCheckpoint("8", 2), None, {})
    item = shard.table.table.get(held.key)
    assert item is not None
    assert not {name for name in item if name.startswith("pending")}


def test_a_lease_does_not_come_back(shard: OneShard, held: HeldLease) -> None:
    """A renewal whose response comes after the lease has expired is too late: a batch may have been dropped meanwhile."""

    def slow() -> str:
        shard.clock.sleep(1)
        assert not held.is_ours
        return ""

    shard.clock.sleep(9.5)
    shard.table.hook = slow
    with pytest.raises(LeaseLostError, match="could not be renewed"):
        held.renew()
    assert not held.is_ours


def test_a_commit_that_was_written_counts(shard: OneShard, held: HeldLease) -> None:
    """It counts, also if the lease has expired when its response comes. Only the lease is lost."""

    def slow() -> str:
        shard.clock.sleep(1)
        return ""

    shard.clock.sleep(9.5)
    shard.table.hook = slow
    held.checkpoint(LeaseCheckpoint("8", 2), None, {})
    assert shard.lease().checkpoint == held.lease.checkpoint == LeaseCheckpoint("8", 2)
    assert not held.is_ours


def test_a_batch_whose_end_was_fixed_too_late_does_not_go_out(shard: OneShard, held: HeldLease) -> None:
    """Another worker may have the shard when the response comes."""

    def slow() -> str:
        shard.clock.sleep(11)
        return ""

    shard.table.hook = slow
    with pytest.raises(LeaseLostError, match="could not be renewed"):
        held.set_pending((LeaseCheckpoint("8", 2), "1 TRIM_HORIZON 7 8/2"), {})


def test_leaving_in_a_hand_over_that_was_not_noticed(shard: OneShard, held: HeldLease) -> None:
    """A worker that closes just after a hand-over has begun lets the lease go to the next owner."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    assert held.leave("somebody")
    assert (shard.lease().owner, shard.lease().checkpoint_owner) == ("next", None)


def test_a_lease_whose_item_was_damaged_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A malformed item ends the lease, and not the group."""
    shard.table.table.update(Update(held.key, expect={}, set={"checkpoint": "soon", "leaseCounter": 99}))
    with pytest.raises(LeaseLostError, match="not a valid lease"):
        held.renew()
