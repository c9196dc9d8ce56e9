"""Runs of a leader over a table, and when leases have lost their worker, as it sees it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from attrs import evolve

from kinesis_consumer.assignment import BeginHandOver, Leader, LeaderLock, LeaderRun, Sightings, report_alive
from kinesis_consumer.leases import assign, renew
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import Lease
from support.fake_stream import FakeClock
from support.shared_leases import SharedTime, UnreliableTable, WorkerClock, leases_in, make_lease, put_leases


class Group:
    """Worker `w1` leads a group. Others report that they are alive, and renew their leases."""

    def __init__(self, *leases: Lease) -> None:
        self.time = SharedTime()
        self.wall = FakeClock()
        self.memory = MemoryTable()
        self.table = UnreliableTable(self.memory, self.time)
        put_leases(self.memory, leases)
        clock = WorkerClock(self.time, 77.0)
        self.lock = LeaderLock("w1", self.memory, clock, random.Random(0), 10.0)
        self.leader = Leader("w1", self.table, self.lock, clock, self.wall, 10.0)

    def live(self, *workers: str, seconds: float = 1.0, renewing: Sequence[str] = ()) -> None:
        """Let time pass. *workers* report at its end, and *renewing* renew their leases."""
        self.time.now += seconds
        self.wall.now += seconds
        for worker in workers:
            self.memory.update(report_alive(worker, self.wall.now))
        for lease in leases_in(self.memory):
            if lease.actual_owner in renewing:
                self.memory.update(renew(lease))

    def run(self) -> LeaderRun:
        self.lock.step()
        run = self.leader.run()
        assert run is not None
        return run

    def owners(self) -> list[str | None]:
        return [lease.owner for lease in leases_in(self.memory)]


def test_a_worker_without_the_lock_decides_nothing() -> None:
    """It makes no call either."""
    group = Group(make_lease(0))
    assert group.leader.run() is None
    assert group.table.calls == []


def test_the_leader_assigns_new_leases_to_the_workers_that_report() -> None:
    """The leader itself is alive without a report."""
    group = Group(*[make_lease(shard) for shard in range(4)])
    group.live("w2")
    run = group.run()
    assert len(run.done) == 4
    assert run.workers == {"w1", "w2"}
    assert sorted(group.owners(), key=str) == ["w1", "w1", "w2", "w2"]
    assert [lease.counter for lease in leases_in(group.memory)] == [1, 1, 1, 1]


def test_a_lease_whose_worker_died_is_assigned_after_one_duration() -> None:
    """Its owner is suspect: its report is fresh, and yet it gets nothing."""
    group = Group(make_lease(0, "w2"), make_lease(1, "w3"))
    group.live("w2", "w3")
    group.run()
    for _ in range(9):
        group.live(renewing=["w3"])
        assert group.run().done == ()
    group.live(renewing=["w3"])
    assert len(group.run().done) == 1
    assert group.owners() == ["w1", "w3"]


def test_a_new_leader_gives_nothing_to_a_worker_that_died_under_an_earlier_one() -> None:
    """Its report is half a minute old, and the lease that it had belongs to somebody else already."""
    group = Group(make_lease(0, "w2"), make_lease(1, "w2"), make_lease(2, "w2"), make_lease(3, "w2"))
    group.live("w2", "w3")
    group.live(seconds=20.0)
    run = group.run()
    assert run.workers == {"w1", "w2"}
    assert {decision.worker for decision in run.done} == {"w1"}
    group.live("w3")
    assert group.run().workers == {"w1", "w2", "w3"}


def test_a_suspect_gets_leases_once_it_reports_again() -> None:
    """A worker that was paused may come back."""
    group = Group(make_lease(0, "w2"))
    group.live("w2")
    group.run()
    group.live(seconds=10)
    group.run()
    put_leases(group.memory, [make_lease(1), make_lease(2)])
    group.live(renewing=["w1"])
    assert group.run().workers == {"w1"}
    group.live("w2", renewing=["w1"])
    run = group.run()
    assert run.workers == {"w1", "w2"}
    assert [type(decision) for decision in run.done] == [BeginHandOver]


def test_a_worker_has_time_to_find_what_it_was_assigned() -> None:
    """A KCL looks every ten seconds only. Until then the lease is not taken from it."""
    group = Group(make_lease(0), make_lease(1))
    group.live("w2")
    group.run()
    for _ in range(20):
        group.live("w2", renewing=["w1"])
        assert group.run().done == ()
    group.live("w2", renewing=["w1"])
    assert len(group.run().done) == 1
    assert group.owners() == ["w1", "w1"]


def test_a_worker_that_comes_back_meanwhile_keeps_its_lease() -> None:
    """The assignment of an expired lease expects its counter."""
    group = Group(make_lease(0, "w2"))
    group.run()
    group.live(seconds=10)
    group.table.fates = ["", lambda: group.live(seconds=0, renewing=["w2"])]
    run = group.run()
    assert (run.done, len(run.refused)) == ((), 1)
    assert group.owners() == ["w2"]


def test_a_lease_that_changed_hands_meanwhile_is_left_alone() -> None:
    """An assignment expects the owners that the scan has shown."""
    group = Group(make_lease(0))
    group.table.fates = ["", lambda: group.memory.update(assign(make_lease(0), "w9"))]
    assert len(group.run().refused) == 1
    assert group.owners() == ["w9"]


def test_leases_are_handed_over_to_a_new_worker() -> None:
    """The present owner reads on, and the counter stays, so that its renewals go on."""
    group = Group(*[make_lease(shard, "w1", counter=7) for shard in range(2)])
    group.live("w2", renewing=[])
    assert len(group.run().done) == 1
    [leaving] = [lease for lease in leases_in(group.memory) if lease.checkpoint_owner]
    assert (leaving.owner, leaving.checkpoint_owner, leaving.counter) == ("w2", "w1", 7)
    group.live("w2", renewing=["w1"])
    assert group.run().done == ()


def test_a_handover_that_takes_too_long_ends() -> None:
    """The next owner gets the lease after the time-out and one duration of a lease."""
    group = Group(*[make_lease(shard, "w1") for shard in range(2)])
    group.live("w2")
    group.run()
    for _ in range(40):
        group.live("w2", renewing=["w1"])
        assert group.run().done == ()
    group.live("w2", renewing=["w1"])
    assert len(group.run().done) == 1
    assert sorted(group.owners(), key=str) == ["w1", "w2"]
    assert not any(lease.checkpoint_owner for lease in leases_in(group.memory))


def test_a_worker_that_only_watches_knows_which_leases_stand_still() -> None:
    """It assigns the leases of a dead leader as soon as it has the lock."""
    group = Group(make_lease(0, "dead"))
    group.leader.watch()
    group.live(seconds=10)
    assert len(group.run().done) == 1


def test_a_leader_stops_when_its_lock_is_no_longer_valid() -> None:
    """Another one may lead by then."""
    group = Group(*[make_lease(shard) for shard in range(4)])
    group.table.fates = ["", 6.0]
    assert len(group.run().done) == 1


def test_a_leader_that_fails_three_times_gives_up_its_lock() -> None:
    """Another worker may reach what this one needs. A success in between starts the count anew."""
    group = Group(make_lease(0))
    group.lock.step()
    for fates in (["lost"], ["lost"], [], ["lost"], ["lost"], ["lost"]):
        assert group.lock.is_held()
        group.table.fates = list(fates)
        if fates:
            with pytest.raises(UnavailableError):
                group.leader.run()
        else:
            group.leader.run()
    assert not group.lock.is_held()
    assert group.memory.get("Leader") is None


def test_shards_are_synced_with_the_leases_of_the_scan() -> None:
    """Leases that it makes are assigned in the same run."""
    group = Group(make_lease(0, "w1"))
    seen: list[Sequence[Lease]] = []

    def sync(leases: Sequence[Lease]) -> bool:
        seen.append(leases)
        put_leases(group.memory, [make_lease(1)])
        return len(seen) == 1

    group.leader.sync_shards = sync
    run = group.run()
    assert [[lease.shard_id for lease in leases] for leases in seen] == [["shardId-000000000000"]]
    assert len(run.done) == 1
    assert group.owners() == ["w1", "w1"]


def test_a_failed_sync_does_not_stop_assignments() -> None:
    """Leases are assigned before the stream is asked for its shards."""
    group = Group(make_lease(0))

    def sync(_leases: Sequence[Lease]) -> bool:
        raise UnavailableError("the stream cannot be reached")

    group.leader.sync_shards = sync
    with pytest.raises(UnavailableError):
        group.run()
    assert group.owners() == ["w1"]


def test_old_reports_are_deleted() -> None:
    """A report that has not changed for a day is that of a worker that was killed."""
    group = Group()
    group.live("w2")
    group.run()
    group.live("w3", seconds=86_401)
    group.run()
    assert [item["leaseKey"] for item in group.memory.scan() if "lut" in item] == ["w3"]


def test_a_report_that_changes_meanwhile_is_not_deleted() -> None:
    """Its worker is alive after all."""
    group = Group()
    group.live("w2")
    group.run()
    group.live(seconds=86_401)
    group.table.fates = ["", lambda: group.live("w2", seconds=0)]
    group.run()
    assert [item["leaseKey"] for item in group.memory.scan() if "lut" in item] == ["w2"]


def test_malformed_leases_are_named() -> None:
    """They stop no other lease."""
    group = Group(make_lease(0))
    group.memory.create("shardId-9", {"checkpoint": 7})
    run = group.run()
    assert run.malformed == ("shardId-9",)
    assert len(run.done) == 1


def test_a_lost_response_is_repeated_by_the_next_run() -> None:
    """Each run decides by what the table says."""
    group = Group(make_lease(0), make_lease(1))
    group.table.fates = ["", "unheard"]
    with pytest.raises(UnavailableError):
        group.run()
    group.run()
    assert group.owners() == ["w1", "w1"]


def test_an_overdue_lease_may_change_meanwhile() -> None:
    """The end of a hand-over is a change of owners, which the assignment does not overwrite."""
    leaving = make_lease(0, "w2", checkpoint_owner="w3", counter=1)
    group = Group(leaving)
    group.live("w2", "w3")
    group.run()
    for _ in range(39):
        group.live("w2", "w3", renewing=["w3"])
        assert group.run().done == ()
    group.live("w2", "w3", renewing=["w3"])
    group.table.fates = ["", lambda: group.memory.update(assign(leases_in(group.memory)[0], "w2"))]
    assert len(group.run().refused) == 1
    assert group.owners() == ["w2"]


def test_the_leader_bounds_the_leases_of_each_worker() -> None:
    """Its own setting counts for all, as in the KCL."""
    group = Group(*[make_lease(shard) for shard in range(4)])
    group.leader.max_leases = 1
    group.live("w2")
    assert len(group.run().done) == 2


OWNED = make_lease(0, "w1", counter=5)
UNOWNED = make_lease(1)


def seen(*looks: tuple[float, Lease]) -> Sightings:
    sightings = Sightings(10.0)
    for now_s, lease in looks:
        sightings.look([lease], now_s)
    return sightings


def test_an_owned_lease_counts_as_renewed_when_it_is_first_seen() -> None:
    """A process cannot know how old the first counter is that it sees."""
    sightings = seen((100.0, OWNED))
    assert not sightings.is_expired(OWNED, 109.9)
    assert sightings.is_expired(OWNED, 110.0)


def test_a_counter_that_changes_is_a_renewal() -> None:
    """The duration of a lease counts from the last look that found another counter."""
    renewed = evolve(OWNED, counter=6)
    sightings = seen((100.0, OWNED), (109.0, renewed), (112.0, renewed))
    assert not sightings.is_expired(renewed, 118.9)
    assert sightings.is_expired(renewed, 119.0)


def test_a_lease_without_an_owner_does_not_expire() -> None:
    """Nobody has failed to renew it."""
    assert not seen((100.0, UNOWNED)).is_expired(UNOWNED, 200.0)


def test_the_worker_of_a_handover_is_the_one_that_reads() -> None:
    """A hand-over leaves the counter alone, and does not renew the lease."""
    leaving = evolve(OWNED, owner="w2", checkpoint_owner="w1")
    sightings = seen((100.0, OWNED), (105.0, leaving))
    assert sightings.is_expired(leaving, 110.0)


def test_a_handover_is_timed_from_its_first_sight() -> None:
    """Renewals during a hand-over do not begin it anew. Other owners do."""
    leaving = evolve(OWNED, owner="w2", checkpoint_owner="w1")
    sightings = seen((100.0, OWNED), (105.0, leaving), (108.0, evolve(leaving, counter=6)))
    assert sightings.hand_over_s(leaving, 120.0) == 15.0
    other = evolve(leaving, owner="w3")
    sightings.look([other], 121.0)
    assert sightings.hand_over_s(other, 121.0) == 0.0
    assert sightings.hand_over_s(OWNED, 500.0) == 0.0


def test_a_worker_has_time_to_discover_a_lease_it_was_given() -> None:
    """A KCL finds its new leases after ten seconds. Once it has renewed one, the usual duration counts."""
    given = evolve(OWNED, owner="w2", counter=6)
    sightings = seen((100.0, OWNED), (101.0, given))
    assert not sightings.is_expired(given, 120.9)
    assert sightings.is_expired(given, 121.0)
    renewed = evolve(given, counter=7)
    sightings.look([renewed], 115.0)
    assert sightings.is_expired(renewed, 125.0)


def test_the_first_sight_of_a_lease_adds_no_time_for_discovery() -> None:
    """A new leader waits for the leases of dead workers no longer than one duration."""
    assert seen((100.0, OWNED)).is_expired(OWNED, 110.0)


def test_a_lease_that_comes_back_is_new() -> None:
    """What was seen of a deleted lease is forgotten."""
    sightings = seen((100.0, OWNED))
    sightings.look([], 105.0)
    sightings.look([OWNED], 109.0)
    assert not sightings.is_expired(OWNED, 118.9)
