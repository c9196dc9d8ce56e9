"""Generated groups of workers that take leases for themselves: whatever the start, all leases end with live workers, spread equally."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from kinesis_consumer.assignment import LeaseTaker, Sightings, TakingLimits
from kinesis_consumer.leases import release, renew
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from kinesis_core.leases import FINISHED, OLDEST, Lease, read_lease
from support.examples import examples
from support.shared_leases import SharedTime, UnreliableTable, WorkerClock, leases_in, make_lease, put_leases

DURATION_S = 10.0
ROUND_S = 3.0


@define
class Member:
    """One worker: it takes leases, and renews those that it has taken."""

    name: str
    table: UnreliableTable
    taker: LeaseTaker
    held: dict[str, Lease] = field(factory=dict)
    is_alive: bool = True

    def renew(self) -> None:
        for key, lease in list(self.held.items()):
            item = self.table.update(renew(lease))
            if item is None:
                del self.held[key]
            else:
                self.held[key] = read_lease(item)

    def take(self) -> int:
        taken = self.taker.run(list(self.held))
        self.held |= {each.lease.key: each.lease for each in taken}
        return len(taken)

    def act(self, action: str) -> None:
        match action:
            case "take":
                self.take()
            case "renew":
                self.renew()
            case "kill":
                self.is_alive = False
            case "release" if self.held:
                self.table.update(release(self.held.popitem()[1]))


class Group:
    def __init__(self, leases: list[Lease], members: int, steals: int, seed: int) -> None:
        self.time, self.memory, self.rng = SharedTime(), MemoryTable(), random.Random(seed)
        put_leases(self.memory, leases)
        self.members = [self.add(index, steals) for index in range(members)]

    def add(self, index: int, steals: int) -> Member:
        table = UnreliableTable(self.memory, self.time)
        clock = WorkerClock(self.time, 100.0 * index)
        rng = random.Random(self.rng.getrandbits(64))
        limits = TakingLimits(max_steals=steals)
        taker = LeaseTaker(f"w{index}", table, Sightings(DURATION_S), clock, rng, limits)
        return Member(f"w{index}", table, taker)

    @property
    def live(self) -> list[Member]:
        return [member for member in self.members if member.is_alive]

    def act(self, index: int, action: str, fates: list[str | int]) -> None:
        """Let one member act. A number among *fates* is another member, which takes leases before the call."""
        member = self.members[index % len(self.members)]
        if not member.is_alive or (action == "kill" and len(self.live) == 1):
            return
        others = [other for other in self.live if other is not member]
        member.table.fates = [
            (others[fate % len(others)].take if others else "") if isinstance(fate, int) else fate
            for fate in fates
        ]
        with suppress(UnavailableError):
            member.act(action)
        member.table.fates = []

    def settle(self, rounds: int) -> int:
        """Let all live members renew and take, in any order. Returns how many leases were taken in the last round."""
        taken = 0
        for _ in range(rounds):
            self.time.pass_s(ROUND_S)
            for member in self.live:
                member.renew()
            taken = sum(member.take() for member in self.rng.sample(self.live, len(self.live)))
        return taken


owners = st.none() | st.sampled_from(["w0", "w1", "w2", "dead", "gone"])
starts = st.lists(st.tuples(owners, st.sampled_from([OLDEST, OLDEST, FINISHED])), max_size=9)
fates = st.lists(st.sampled_from(["", "", "lost", "unheard", 0, 1, 2]), max_size=4)
histories = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["take", "take", "take", "renew", "renew", "release", "kill"]),
        fates,
        st.sampled_from([0.0, 1.0, 3.0, 12.0, 40.0]),
    ),
    max_size=15,
)


@settings(max_examples=examples(200))
@given(starts, st.integers(1, 5), st.integers(1, 3), histories, st.integers(0, 99))
def test_workers_that_take_end_with_equally_many_leases(
    start: list[tuple[str | None, object]],
    members: int,
    steals: int,
    history: list[tuple[int, str, list[str | int], float]],
    seed: int,
) -> None:
    """Each lease has a live worker that renews it, no two workers are more than one lease apart, and stealing ends."""
    leases = [
        make_lease(shard, owner, checkpoint=checkpoint)  # type: ignore[arg-type]
        for shard, (owner, checkpoint) in enumerate(start)
    ]
    group = Group(leases, members, steals, seed)
    for index, action, its_fates, pause_s in history:
        group.act(index, action, its_fates)
        group.time.pass_s(pause_s)
    group.settle(20)
    before = leases_in(group.memory)
    assert group.settle(1) == 0
    assert group.settle(5) == 0
    after = leases_in(group.memory)
    assert [lease.owner for lease in after] == [lease.owner for lease in before]
    assert all(new.counter == old.counter + 6 for old, new in zip(before, after, strict=True))
    loads = Counter({member.name: len(member.held) for member in group.live})
    assert sum(loads.values()) == len(leases)
    assert max(loads.values()) - min(loads.values()) <= 1
