"""Generated groups in which a leader assigns leases: no two workers have a lease at one time, and in the end all have equally many."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_consumer.assignment import Leader, LeaderLock, LeaderRun, Namesakes, report_alive
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease, renew
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import FINISHED, OLDEST, LeaseCheckpoint, read_lease
from support.examples import examples
from support.shared_leases import (
    Fate,
    SharedTime,
    UnreliableTable,
    WorkerClock,
    leases_in,
    make_lease,
    put_leases,
)

pytestmark = pytest.mark.tests  # histories take seconds

DURATION_S = 10.0
ROUND_S = 2.0
MEMBERS = 4


@define
class Member:
    """One worker, with all that it does now and then."""

    name: str
    table: UnreliableTable
    clock: WorkerClock
    lock: LeaderLock
    leader: Leader
    wall: WorkerClock
    namesakes: Namesakes
    held: dict[str, HeldLease] = field(factory=dict)
    is_running: bool = True

    def report(self) -> None:
        self.table.update(report_alive(self.name, self.wall.now_s()))

    def renew(self) -> None:
        for key, lease in list(self.held.items()):
            try:
                lease.renew()
            except LeaseLostError:
                del self.held[key]

    def hand_over(self) -> None:
        for key, lease in list(self.held.items()):
            if lease.is_handing_over:
                del self.held[key]
                lease.release(None)

    def discover(self) -> None:
        for key in self.table.keys_of_owner(self.name):
            item = self.table.get(key) if key not in self.held else None
            found = read_lease(item) if item else None
            if found is None or found.owner != self.name or found.checkpoint_owner is not None:
                continue
            sent_s = self.clock.now_s()
            item = self.table.update(renew(found, self.namesakes.mark))
            taken = read_lease(item) if item else None
            if taken is not None:  # else another worker has been given the lease
                self.held[key] = HeldLease.of(taken, self.name, self.table, self.clock, DURATION_S, sent_s)

    def lead(self) -> LeaderRun | None:
        if not self.lock.step() and self.lock.suspects_leader():
            self.leader.watch()
        return self.leader.run()

    def close(self) -> None:
        self.is_running = False
        self.table.delete(self.name, {})
        self.lock.release()
        for lease in self.held.values():
            lease.release(None)

    def kill(self) -> None:
        self.is_running = False

    def arrive(self) -> None:
        while self.table.late:
            self.table.late.pop(0)()


@define
class Group:
    time: SharedTime
    memory: MemoryTable
    rng: random.Random
    members: list[Member] = field(factory=list)

    def add(self) -> None:
        name, rng = f"w{len(self.members)}", random.Random(self.rng.getrandbits(64))
        clock = WorkerClock(self.time, rng.uniform(-500, 500))
        wall = WorkerClock(self.time, 1_790_000_000 + rng.uniform(-300, 300))
        table = UnreliableTable(self.memory, self.time)
        lock = LeaderLock(name, table, clock, rng, DURATION_S)
        leader = Leader(name, table, lock, clock, wall, DURATION_S)
        namesakes = Namesakes(name, DURATION_S, clock, process=name)
        self.members.append(Member(name, table, clock, lock, leader, wall, namesakes))

    @property
    def running(self) -> list[Member]:
        return [member for member in self.members if member.is_running]

    def check(self) -> None:
        """Check that no lease and no lock is held twice at this time."""
        held = [key for member in self.running for key, lease in member.held.items() if lease.is_ours]
        assert len(held) == len(set(held))
        assert sum(member.lock.is_held() for member in self.running) <= 1

    def act(self, index: int, action: str, fates: list[Fate]) -> None:
        member = self.members[index % len(self.members)]
        if action == "start":
            self.add()
        elif action == "arrive":
            member.arrive()
        elif member.is_running and (len(self.running) > 1 or action not in {"kill", "close"}):
            member.table.fates = list(fates)
            with suppress(UnavailableError):
                getattr(member, action)()
            member.table.fates = []
        self.check()

    def settle(self, rounds: int) -> int:
        """Let all workers do all that they do. Returns how many decisions were made."""
        decisions = 0
        for _ in range(rounds):
            for member in self.rng.sample(self.running, len(self.running)):
                member.renew()
                member.hand_over()
                member.discover()
                member.report()
                run = member.lead()
                decisions += len(run.done) if run else 0
            self.time.pass_s(ROUND_S)
        return decisions


owners = st.none() | st.sampled_from(["w0", "w1", "w2", "dead"])
starts = st.lists(st.tuples(owners, owners, st.sampled_from([OLDEST, OLDEST, FINISHED])), max_size=7)
fates = st.lists(st.sampled_from(["", "", "", "", "lost", "unheard", "late", 0.3, 4.0, 11.0]), max_size=6)
common = ["lead", "lead", "lead", "renew", "renew", "hand_over", "discover", "discover", "report"]
histories = st.lists(
    st.tuples(
        st.integers(0, MEMBERS + 1),
        st.sampled_from([*common, *common, "kill", "close", "start", "arrive"]),
        fates,
        st.sampled_from([0.0, 0.0, 0.5, 2.0, 3.3, 9.9, 12.0, 25.0]),
    ),
    max_size=40,
)


@settings(max_examples=examples(150))
@given(starts, histories, st.integers(0, 99))
def test_leases_have_one_worker_each(
    start: list[tuple[str | None, str | None, LeaseCheckpoint]],
    history: list[tuple[int, str, list[Fate], float]],
    seed: int,
) -> None:
    """Never two, whatever fails. In the end all leases are renewed by live workers, which have equally many, and nothing moves."""
    time = SharedTime()
    group = Group(time, MemoryTable(), random.Random(seed))
    time.watch = group.check
    put_leases(
        group.memory,
        (
            make_lease(shard, owner, 1, checkpoint, other if other != owner else None)
            for shard, (owner, other, checkpoint) in enumerate(start)
        ),
    )
    for _ in range(MEMBERS):
        group.add()
    for index, action, its_fates, pause_s in history:
        group.act(index, action, its_fates)
        time.pass_s(pause_s)
    for member in group.members:
        member.arrive()
    group.settle(70)
    assert group.settle(8) == 0
    assert sum(member.lock.is_held() for member in group.running) == 1
    leases = {lease.key: lease for lease in leases_in(group.memory)}
    held = [key for member in group.running for key in member.held]
    assert sorted(held) == sorted(leases)
    loads = [sum(not leases[key].is_finished for key in member.held) for member in group.running]
    assert max(loads) - min(loads) <= 1
