"""Two processes with one worker name: one of them gets an error, and neither touches a lease of the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from attrs import evolve

from kinesis_consumer import GroupSettings, WorkerNameInUseError
from kinesis_consumer.assignment import Namesakes, join, report_alive
from kinesis_consumer.leases import assign, new_item, release
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.leases import Item, Lease
from support.consumer_groups import fill, leases_of, new_group, new_stream
from support.fake_stream import FakeClock
from support.shared_leases import make_lease, put_leases

DURATION_S = 10.0
MINE = make_lease(0, "host-1", counter=5)
Change = Callable[[Lease, float], Lease | None]
"""What becomes of a lease after so many seconds."""


def mark(process: str, worker: str = "host-1") -> str:
    """Return the mark in the leases of a process."""
    return str(Namesakes(worker, DURATION_S, FakeClock(), process).mark["workerProcess"])


def wait(
    leases: Sequence[Lease] = (MINE,),
    change: Change = lambda lease, _: lease,
    report: Callable[[float], int | None] = lambda _: None,
) -> tuple[float, Namesakes]:
    """Wait for the name host-1. Returns for how long, and what is known then."""
    clock = FakeClock()
    namesakes, started_s = Namesakes("host-1", DURATION_S, clock), clock.now_s()

    class Table(MemoryTable):
        def scan(self) -> list[Item]:
            passed_s, present = clock.now_s() - started_s, MemoryTable()
            put_leases(present, filter(None, (change(lease, passed_s) for lease in leases)))
            if (updated := report(passed_s)) is not None:
                present.update(report_alive("host-1", updated))
            return present.scan()

    join(Table(), namesakes, clock, random.Random(1))
    return clock.now_s() - started_s, namesakes


def renewed(lease: Lease, passed_s: float) -> Lease:
    """Return *lease* as a process that runs renews it."""
    return evolve(lease, counter=lease.counter + int(passed_s / (DURATION_S / 3)))


def test_a_new_name_is_not_waited_for() -> None:
    """Leases of other workers do not matter."""
    of_another = evolve(make_lease(0, "host-2"), process=mark("any", "host-2"))
    assert wait([of_another, make_lease(1)])[0] == 0


def test_the_name_of_a_process_that_was_killed() -> None:
    """It is waited for as long as a lease is valid. Then its leases are free at once."""
    killed = evolve(MINE, process=mark("old"))
    passed_s, namesakes = wait([killed])
    assert passed_s == pytest.approx(DURATION_S)
    assert namesakes.may_take(killed, holds_any=False)


def test_the_name_of_a_process_that_runs() -> None:
    """It renews its leases, or it reports where it has none: an error before a lease could expire."""
    with pytest.raises(WorkerNameInUseError, match="'host-1'"):
        wait(change=renewed)
    with pytest.raises(WorkerNameInUseError, match="its own name, or no name"):
        wait([], report=int)


def test_a_process_that_ends_meanwhile() -> None:
    """It releases its leases and deletes its report: nobody waits any longer."""
    passed_s, _ = wait(
        change=lambda lease, s: lease if s < 2 else evolve(lease, owner=None),
        report=lambda s: 7 if s < 4 else None,
    )
    assert 4 <= passed_s < 6


def test_a_leader_that_writes_once() -> None:
    """It gives the lease of a dead worker to that name again. That is no sign of a process, and prolongs no wait."""
    passed_s, _ = wait(change=lambda lease, s: evolve(lease, counter=6 if s > 5 else 5))
    assert passed_s == pytest.approx(DURATION_S)


@pytest.mark.parametrize("process", [None, "", "any", mark("any", "host-2"), mark("mine")])
def test_a_lease_of_no_namesake(process: str | None) -> None:
    """A lease that a leader gave to this worker is taken at once, whoever had it before."""
    namesakes = Namesakes("host-1", DURATION_S, FakeClock(), "mine")
    assert namesakes.may_take(evolve(MINE, process=process), holds_any=False)


def test_a_lease_of_a_namesake() -> None:
    """It is free once it stands still for as long as it is valid."""
    clock = FakeClock()
    namesakes, lease = Namesakes("host-1", DURATION_S, clock, "mine"), evolve(MINE, process=mark("other"))
    assert not namesakes.may_take(lease, holds_any=False)
    clock.sleep(6)
    lease = evolve(lease, counter=6)
    assert not namesakes.may_take(lease, holds_any=False)
    clock.sleep(DURATION_S)
    assert namesakes.may_take(lease, holds_any=False)


def test_a_lease_that_had_other_owners_meanwhile() -> None:
    """Their writes are none of a process with this name, although the mark is still there: a KCL leaves it."""
    clock = FakeClock()
    namesakes, lease = Namesakes("host-1", DURATION_S, clock, "mine"), evolve(MINE, process=mark("other"))
    assert not namesakes.may_take(lease, holds_any=False)
    clock.sleep(3600)
    assert not namesakes.may_take(evolve(lease, counter=999), holds_any=False)
    clock.sleep(DURATION_S)
    assert namesakes.may_take(evolve(lease, counter=999), holds_any=False)


@pytest.mark.parametrize(
    ("mine", "other", "holds_any", "ends"),
    [("1", "2", False, True), ("2", "1", False, True), ("1", "2", True, False), ("2", "1", True, True)],
)
def test_one_of_two_processes_goes_on(mine: str, other: str, *, holds_any: bool, ends: bool) -> None:
    """The one without leases ends. Where both have some, both see it, and the same one of them ends."""
    clock = FakeClock()
    namesakes = Namesakes("host-1", DURATION_S, clock, mine)
    for counter in (5, 6):
        assert not namesakes.may_take(evolve(MINE, process=mark(other), counter=counter), holds_any=holds_any)
        clock.sleep(1)
    last = evolve(MINE, process=mark(other), counter=7)
    if ends:
        with pytest.raises(WorkerNameInUseError):
            namesakes.may_take(last, holds_any=holds_any)
    else:
        assert not namesakes.may_take(last, holds_any=holds_any)


def test_two_processes_that_start_at_once() -> None:
    """Neither sees the other at its start. No lease is held by both, one of them ends, and the other one then reads all shards."""
    clock, table, stream = FakeClock(), MemoryTable(), new_stream(4)
    fill(stream, 40)
    settings = GroupSettings(lease_duration_s=DURATION_S)
    running = {
        name: new_group(stream, table, settings=settings, worker="host-1", clock=clock)._threads
        for name in "AB"
    }
    errors: list[str] = []
    for _ in range(60):
        clock.sleep(0.5)
        for name, threads in list(running.items()):
            threads.worker.leases.renew()
            try:
                threads.coordinator.step()
            except WorkerNameInUseError:
                errors.append(name)
                threads.coordinator.close()
                del running[name]
        held = [key for threads in running.values() for key in threads.worker.leases.shards.held()]
        assert len(held) == len(set(held)), "a lease is held twice"
    assert len(errors) == 1
    [left] = running.values()
    assert left.worker.leases.shards.held() == set(leases_of(table))
    assert all(reader.held.is_ours for reader in left.worker.leases.shards.readers())


def test_a_lease_that_is_released_loses_its_mark() -> None:
    """Released or assigned, it is no lease of that process any more: whoever gets it under the same name need not wait."""
    for update in (release(MINE), assign(MINE, "host-1")):
        assert "workerProcess" in update.remove


def test_marks_of_a_process_that_was_killed() -> None:
    """Where others have the leases by now, they are cleared: one that is handed over to the next process is taken at once."""
    table, clock = MemoryTable(), FakeClock()
    threads = new_group(new_stream(), table, worker="host-1", clock=clock)._threads
    for shard, owner in enumerate(("host-2", "host-1")):
        lease = make_lease(shard, owner)
        table.create(lease.key, new_item(lease))
        table.update(Update(lease.key, {}, {"leaseOwner": owner, "workerProcess": mark("old")}))
    before = leases_of(table)
    join(table, threads.worker.leases.namesakes, clock, random.Random(1))
    assert [lease.process for lease in leases_of(table).values()] == [None, mark("old")]
    assert [lease.counter for lease in leases_of(table).values()] == [
        lease.counter for lease in before.values()
    ]


def test_the_name_of_a_worker_that_was_closed() -> None:
    """The next process with that name gets the leases at once: they carry no mark any more."""
    clock, table, stream = FakeClock(), MemoryTable(), new_stream(4)
    for _ in range(2):
        threads = new_group(stream, table, worker="host-1", clock=clock)._threads
        for _ in range(3):
            threads.coordinator.step()
            clock.sleep(2)
        assert len(threads.worker.leases.shards.held()) == 4
        threads.coordinator.close()


def test_the_one_that_ends_releases_no_lease_of_the_other() -> None:
    """At its end a worker releases the leases that name it. Those of another process stay."""
    clock, table, stream = FakeClock(), MemoryTable(), new_stream(2)
    first, second = (new_group(stream, table, worker="host-1", clock=clock)._threads for _ in range(2))
    for _ in range(3):
        first.coordinator.step()
        clock.sleep(2)
    before = leases_of(table)
    second.coordinator.step()
    second.coordinator.close()
    assert leases_of(table) == before


def test_a_mark_is_short() -> None:
    """However long the name of the worker is, the item of a lease fits into one write unit."""
    assert len(Namesakes("w" * 255, DURATION_S, FakeClock()).mark["workerProcess"]) == 25  # type: ignore[arg-type]
