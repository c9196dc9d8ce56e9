"""What one worker takes for itself."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from attrs import evolve

from kinesis_consumer.assignment import Choice, LeaseTaker, Sightings, TakingLimits, choose_leases
from kinesis_consumer.leases import take
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import FINISHED, Lease
from support.shared_leases import SharedTime, UnreliableTable, WorkerClock, leases_in, make_lease, put_leases

NOW_S = 100.0


def owned_by(*owners: str | None) -> list[Lease]:
    return [make_lease(shard, owner, counter=shard) for shard, owner in enumerate(owners)]


def choose(
    leases: Sequence[Lease], limits: TakingLimits | None = None, expired: Sequence[Lease] = (), seed: int = 0
) -> Choice:
    """Choose for worker `me`. Unowned leases were released before; *expired* stand still for one duration."""
    sightings = Sightings(10.0)
    sightings.look([evolve(lease, owner="old", counter=-1) for lease in leases], NOW_S - 40)
    sightings.look(leases, NOW_S - 15)
    now = [
        lease if lease in expired or lease.owner is None else evolve(lease, counter=lease.counter + 100)
        for lease in leases
    ]
    sightings.look(now, NOW_S)
    return choose_leases(now, sightings, NOW_S, "me", random.Random(seed), limits or TakingLimits())


def test_an_empty_table_has_nothing_to_take() -> None:
    """Without leases a worker takes nothing."""
    assert choose([]) == Choice()


def test_a_worker_takes_its_share_of_released_leases() -> None:
    """The share is the number of leases through that of workers, rounded up: 5 leases, 2 workers, 3."""
    assert len(choose(owned_by(None, None, None, None, "w1")).leases) == 3


def test_new_leases_are_all_taken() -> None:
    """Leases that nobody ever had are taken whatever the share, up to the limit of a worker."""
    leases = [*owned_by("w1", "w1"), *[make_lease(shard) for shard in range(2, 6)]]
    sightings = Sightings(10.0)
    sightings.look(leases, NOW_S)
    for most, expected in ((100, 4), (3, 3)):
        limits = TakingLimits(max_leases=most)
        choice = choose_leases(leases, sightings, NOW_S, "me", random.Random(0), limits)
        assert len(choice.leases) == expected
        assert all(lease.owner is None for lease in choice.leases)


def test_a_worker_at_its_limit_takes_no_new_leases() -> None:
    """With new leases in the table it does not steal either."""
    leases = [*owned_by("me", "w1", "w1", "w1"), make_lease(4)]
    sightings = Sightings(10.0)
    sightings.look(leases, NOW_S)
    limits = TakingLimits(max_leases=1)
    assert choose_leases(leases, sightings, NOW_S, "me", random.Random(0), limits) == Choice()


def test_leases_of_a_silent_worker_are_available() -> None:
    """A worker that renews nothing counts no more, and its leases are taken before any is stolen."""
    leases = owned_by("dead", "dead", "dead", "w1", "w1", "w1")
    choice = choose(leases, expired=leases[:3])
    assert choice == Choice(choice.leases, is_steal=False)
    assert {lease.owner for lease in choice.leases} == {"dead"}
    assert len(choice.leases) == 3


def test_one_lease_is_stolen_from_the_most_loaded_worker() -> None:
    """Without available leases a worker steals, one at a time by default."""
    choice = choose(owned_by("w1", "w1", "w1", "w1", "w2", "me"))
    assert choice.is_steal
    assert [lease.owner for lease in choice.leases] == ["w1"]


def test_several_leases_are_stolen_if_allowed() -> None:
    """No more than what the other worker has above its share."""
    leases = owned_by(*["w1"] * 5, "w2")
    assert len(choose(leases, TakingLimits(max_steals=10)).leases) == 2


def test_a_lease_is_stolen_from_an_exact_share_if_two_are_needed() -> None:
    """7 leases for 3 workers are 3, 3 and 1 at worst: the last one steals. 3, 2 and 2 are equal enough."""
    assert len(choose(owned_by("w1", "w1", "w1", "w2", "w2", "w2", "me")).leases) == 1
    assert choose(owned_by("w1", "w1", "w1", "w2", "w2", "me", "me")) == Choice()


def test_more_workers_than_leases_take_one_each() -> None:
    """A worker without a lease steals nothing if each lease has its own worker."""
    assert choose(owned_by("w1", "w2")) == Choice()


def test_finished_leases_count() -> None:
    """As in the KCL a lease at the end of its shard is taken and counted like any other."""
    ended = [make_lease(shard, "w1", shard, FINISHED) for shard in range(4)]
    assert len(choose(ended).leases) == 1


def test_the_limit_of_a_worker_lowers_its_share() -> None:
    """A worker takes no more than it may have."""
    leases = owned_by(None, None, None, None, None, "me")
    assert len(choose(leases, TakingLimits(max_leases=2)).leases) == 1


def test_workers_choose_differently() -> None:
    """The choice is random, so that workers that start together do not want the same leases."""
    leases = owned_by(*[None] * 20, *["w1"] * 10)
    assert len({choose(leases, seed=seed).leases for seed in range(10)}) > 5


class Worker:
    """Worker `me` with its view of a table."""

    def __init__(self, *leases: Lease) -> None:
        self.memory = MemoryTable()
        self.time = SharedTime()
        self.table = UnreliableTable(self.memory, self.time)
        clock = WorkerClock(self.time, 50.0)
        self.taker = LeaseTaker("me", self.table, Sightings(10.0), clock, random.Random(1))
        put_leases(self.memory, leases)

    def owners(self) -> list[str | None]:
        return [lease.owner for lease in leases_in(self.memory)]


def test_a_taken_lease_is_valid_from_when_the_take_was_sent() -> None:
    """The time is that of the worker's own clock before the call, and the lease has its new counter."""
    worker = Worker(make_lease(0, counter=4))
    worker.table.fates = ["", 3.0]
    [taken] = worker.taker.run()
    assert taken.sent_s == 1_050.0
    assert (taken.lease.owner, taken.lease.counter) == ("me", 5)


def test_a_lease_that_others_took_meanwhile_is_left_alone() -> None:
    """A take expects the counter that the scan has shown."""
    worker = Worker(make_lease(0))

    def take_for_another() -> None:
        worker.memory.update(take(make_lease(0), "w1"))

    worker.table.fates = ["", take_for_another]
    assert worker.taker.run() == []
    assert worker.owners() == ["w1"]


def test_a_take_whose_response_was_lost_is_found_by_the_next_scan() -> None:
    """The lease names this worker, which does not hold it. It is not lost for a whole duration."""
    worker = Worker(make_lease(0))
    worker.table.fates = ["", "unheard"]
    with pytest.raises(UnavailableError):
        worker.taker.run()
    [taken] = worker.taker.run()
    assert taken.lease.counter == 2
    assert worker.taker.run([taken.lease.key]) == []


def test_leases_taken_before_a_failure_are_returned() -> None:
    """A table that fails in the middle of a run does not hide what was taken."""
    worker = Worker(make_lease(0), make_lease(1))
    worker.table.fates = ["", "", "lost"]
    assert len(worker.taker.run()) == 1


def test_a_lease_that_is_being_handed_over_is_not_resumed() -> None:
    """The worker that hands it over still reads it."""
    worker = Worker(make_lease(0, "me", 3, checkpoint_owner="w1"), make_lease(1, "me"))
    assert [taken.lease.shard_id for taken in worker.taker.run()] == ["shardId-000000000001"]


def test_a_lease_is_read_again_before_it_is_stolen_after_a_slow_scan() -> None:
    """The counter of the scan is old by then. A lease that has another owner now is not stolen."""
    worker = Worker(*[make_lease(shard, "w1") for shard in range(4)])
    worker.table.fates = [2.0]
    assert len(worker.taker.run()) == 1
    assert worker.table.calls == ["scan", "get", "update"]


def test_a_lease_that_changed_hands_during_a_slow_scan_is_not_stolen() -> None:
    """The worker that it was to be stolen from has it no more."""
    worker = Worker(*[make_lease(shard, "w1") for shard in range(4)])

    def move_all() -> None:
        for lease in leases_in(worker.memory):
            worker.memory.update(take(lease, "w2"))

    worker.table.fates = [2.0, move_all]
    assert worker.taker.run() == []
    assert worker.owners() == ["w2"] * 4


def test_an_available_lease_is_not_read_again() -> None:
    """Nobody renews it, so its counter is not old after a slow scan either."""
    worker = Worker(make_lease(0))
    worker.table.fates = [2.0]
    assert len(worker.taker.run()) == 1
    assert worker.table.calls == ["scan", "update"]


def test_a_lease_is_not_read_again_after_a_fast_scan() -> None:
    """A fast scan is as good as another read."""
    worker = Worker(*[make_lease(shard, "w1") for shard in range(4)])
    assert len(worker.taker.run()) == 1
    assert worker.table.calls == ["scan", "update"]


def test_malformed_leases_stop_nobody() -> None:
    """An item that should be a lease and is not is passed over, like items of other kinds."""
    worker = Worker(make_lease(0))
    worker.memory.create("shardId-9", {"leaseCounter": "many"})
    worker.memory.create("Leader", {"entityType": "LEADER"})
    assert len(worker.taker.run()) == 1
    assert worker.taker.leases == [make_lease(0)]
    assert worker.taker.malformed == ["shardId-9"]
