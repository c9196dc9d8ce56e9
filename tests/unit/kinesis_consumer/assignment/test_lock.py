"""The lock of the leader."""

from __future__ import annotations

import random

import pytest
from attrs import define, field

from kinesis_consumer.assignment import LeaderLock
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import Item
from support.shared_leases import Fate, SharedTime, UnreliableTable, WorkerClock


@define
class Locks:
    """Workers that want to lead, with a lock of 10 seconds."""

    time: SharedTime = field(factory=SharedTime)
    memory: MemoryTable = field(factory=MemoryTable)
    tables: dict[str, UnreliableTable] = field(factory=dict)
    started: int = 0

    def add(self, worker: str) -> LeaderLock:
        table = self.tables[worker] = UnreliableTable(self.memory, self.time)
        self.started += 1
        clock = WorkerClock(self.time, 1_000.0 * self.started)
        return LeaderLock(worker, table, clock, random.Random(self.started), 10.0)

    def fail(self, worker: str, *fates: Fate) -> None:
        self.tables[worker].fates = list(fates)

    def item(self) -> Item:
        item = self.memory.get("Leader")
        assert item is not None
        return item

    def put(self, **attributes: str) -> None:
        self.memory.delete("Leader", {})
        self.memory.create("Leader", dict(attributes))


@pytest.fixture
def locks() -> Locks:
    return Locks()


def test_the_first_worker_becomes_the_leader(locks: Locks) -> None:
    """The item is one that a KCL understands: all its values are text, the duration is in milliseconds."""
    lock = locks.add("w1")
    assert not lock.is_held()
    assert lock.step()
    item = locks.item()
    assert len(str(item.pop("recordVersionNumber"))) == 36
    assert item == {
        "leaseKey": "Leader",
        "ownerName": "w1",
        "leaseDuration": "10000",
        "entityType": "LEADER",
    }


def test_a_heartbeat_changes_the_version(locks: Locks) -> None:
    """So others see that the leader is alive, and the lock is valid again for its duration."""
    lock = locks.add("w1")
    lock.step()
    first = locks.item()["recordVersionNumber"]
    locks.time.now += 9
    assert lock.step()
    assert locks.item()["recordVersionNumber"] != first
    locks.time.now += 9.9
    assert lock.is_held()
    locks.time.now += 0.1
    assert not lock.is_held()


def test_another_worker_waits_for_the_whole_duration(locks: Locks) -> None:
    """It counts from when it has read the version, with its own clock."""
    first, second = locks.add("w1"), locks.add("w2")
    first.step()
    locks.fail("w2", 1.0)
    assert not second.step()
    locks.time.now += 9.9
    assert not second.step()
    locks.time.now += 0.1
    assert second.step()
    assert not first.is_held()
    assert second.leader == "w2"


def test_a_heartbeat_makes_the_others_wait_anew(locks: Locks) -> None:
    """A lock whose version changes is not taken over."""
    first, second = locks.add("w1"), locks.add("w2")
    first.step()
    for _ in range(5):
        second.step()
        locks.time.now += 6
        first.step()
    assert not second.step()
    assert second.leader == "w1"


def test_the_holder_says_how_long_its_lock_is_valid(locks: Locks) -> None:
    """A Java leader has a lock of two minutes by default."""
    locks.put(ownerName="java", leaseDuration="120000", recordVersionNumber="v1", entityType="LEADER")
    lock = locks.add("w1")
    assert not lock.step()
    locks.time.now += 119
    assert not lock.step()
    locks.time.now += 1
    assert lock.step()


def test_a_released_lock_is_free_at_once(locks: Locks) -> None:
    """A lock client may release the lock without deleting its item. Its other attributes do not stay."""
    locks.put(
        ownerName="java", leaseDuration="120000", recordVersionNumber="v1", isReleased="1", data="anything"
    )
    lock = locks.add("w1")
    assert lock.step()
    assert {"isReleased", "data"}.isdisjoint(locks.item())
    assert locks.item()["ownerName"] == "w1"


def test_a_leader_that_ends_deletes_its_lock(locks: Locks) -> None:
    """Another worker can be the leader at once."""
    first, second = locks.add("w1"), locks.add("w2")
    first.step()
    second.step()
    first.release()
    assert not first.is_held()
    assert second.step()
    first.release()
    assert locks.item()["ownerName"] == "w2"


def test_a_leader_notices_that_another_one_has_the_lock(locks: Locks) -> None:
    """Its heartbeat expects its own version. It then waits like any other worker."""
    first, second = locks.add("w1"), locks.add("w2")
    first.step()
    second.step()
    locks.time.now += 10
    second.step()
    assert not first.step()
    assert first.leader == "w2"
    assert second.is_held()


def test_a_paused_leader_goes_on_if_nobody_has_the_lock(locks: Locks) -> None:
    """Its version is still there, so nobody else has led meanwhile."""
    lock = locks.add("w1")
    lock.step()
    locks.time.now += 60
    assert not lock.is_held()
    assert lock.step()


def test_a_heartbeat_whose_response_was_lost_does_not_end_the_lead(locks: Locks) -> None:
    """The next heartbeat finds the version that it has tried."""
    lock = locks.add("w1")
    lock.step()
    locks.fail("w1", "unheard")
    with pytest.raises(UnavailableError):
        lock.step()
    assert lock.is_held()
    assert lock.step()
    locks.time.now += 9.9
    assert lock.is_held()


def test_a_lock_whose_response_was_lost_is_held(locks: Locks) -> None:
    """The worker finds its own version in the item, and does not wait for itself."""
    lock = locks.add("w1")
    locks.fail("w1", "", "unheard")
    with pytest.raises(UnavailableError):
        lock.step()
    assert not lock.is_held()
    assert lock.step()


def test_a_lock_is_released_after_a_lost_response(locks: Locks) -> None:
    """The version in the table may be the one that was tried last."""
    lock = locks.add("w1")
    lock.step()
    locks.fail("w1", "unheard")
    with pytest.raises(UnavailableError):
        lock.step()
    lock.release()
    assert locks.memory.get("Leader") is None


def test_a_leader_is_suspected_after_two_missed_heartbeats(locks: Locks) -> None:
    """The next leader then looks at the leases, so as to know which ones stand still."""
    first, second = locks.add("w1"), locks.add("w2")
    assert second.suspects_leader()
    first.step()
    second.step()
    assert second.heartbeat_s == 2.5
    locks.time.now += 4.9
    assert not second.suspects_leader()
    locks.time.now += 0.1
    assert second.suspects_leader()
    first.step()
    second.step()
    assert not second.suspects_leader()
    assert not first.suspects_leader()


def test_a_malformed_lock_is_taken_over_in_the_end(locks: Locks) -> None:
    """Without a duration the own one counts."""
    locks.put(ownerName="somebody", recordVersionNumber="v1")
    lock = locks.add("w1")
    assert not lock.step()
    locks.time.now += 10
    assert lock.step()


def test_a_lock_that_is_found_again_may_be_lost_at_once(locks: Locks) -> None:
    """Somebody has deleted it before the next heartbeat."""
    lock = locks.add("w1")
    locks.fail("w1", "", "unheard")
    with pytest.raises(UnavailableError):
        lock.step()
    locks.fail("w1", "", lambda: locks.memory.delete("Leader", {}))
    assert not lock.step()


def test_a_lock_whose_release_failed_is_not_taken_up_again(locks: Locks) -> None:
    """The deletion may still come, and then another worker may lead at once."""
    lock = locks.add("w1")
    lock.step()
    locks.fail("w1", "unheard")
    with pytest.raises(UnavailableError):
        lock.step()
    locks.fail("w1", "", "late")
    with pytest.raises(UnavailableError):
        lock.release()
    assert not lock.step()


def test_a_leader_forgets_the_versions_of_its_heartbeats(locks: Locks) -> None:
    """A leader of many days would keep them all, and delete each of them at its end if another one has the lock."""
    lock = locks.add("w1")
    for _ in range(5):
        assert lock.step()
    locks.put(ownerName="w2", recordVersionNumber="v1")
    lock.release()
    assert locks.tables["w1"].calls.count("delete") == 1
