"""Generated histories of workers that want to lead: no two hold the lock at one time, and one holds it in the end."""

from __future__ import annotations

import random
from contextlib import suppress

from hypothesis import given, settings, strategies as st

from kinesis_consumer.assignment import LeaderLock
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import UnavailableError
from support.examples import examples
from support.shared_leases import SharedTime, UnreliableTable, WorkerClock

DURATIONS_S = (10.0, 10.0, 6.0)
"""A group may have members with other settings."""

fates = st.lists(
    st.sampled_from(["", "", "", "lost", "unheard", "late", 0.1, 2.0, 9.0, 11.0]), min_size=0, max_size=3
)
steps = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["step", "step", "step", "step", "release", "restart", "arrive"]),
    fates,
    st.sampled_from([0.0, 0.0, 0.1, 2.5, 2.5, 5.0, 9.9, 10.0, 12.0]),
)


class Candidates:
    """Three workers, whose clocks show different times and run at one speed."""

    def __init__(self, seed: int) -> None:
        self.time = SharedTime(watch=self.check)
        self.memory = MemoryTable()
        self.rng = random.Random(seed)
        self.tables = [UnreliableTable(self.memory, self.time) for _ in DURATIONS_S]
        self.locks = [self.start(index) for index in range(len(DURATIONS_S))]

    def start(self, index: int) -> LeaderLock:
        clock = WorkerClock(self.time, 1_000.0 * index - 500.0)
        return LeaderLock(
            f"w{index}",
            self.tables[index],
            clock,
            random.Random(self.rng.getrandbits(64)),
            DURATIONS_S[index],
        )

    def check(self) -> None:
        locks = getattr(self, "locks", [])
        assert sum(lock.is_held() for lock in locks) <= 1

    def act(self, index: int, action: str, fates: list[str | float]) -> None:
        table = self.tables[index]
        table.fates = list(fates)
        with suppress(UnavailableError):
            if action == "step":
                self.locks[index].step()
            elif action == "release":
                self.locks[index].release()
            elif action == "restart":
                self.locks[index] = self.start(index)
        if action == "arrive":
            while table.late:
                table.late.pop(0)()
        table.fates = []
        self.check()


@settings(max_examples=examples(600))
@given(st.lists(steps, max_size=40), st.integers(0, 9))
def test_there_is_one_leader_at_most(
    history: list[tuple[int, str, list[str | float], float]], seed: int
) -> None:
    """Pauses, lost calls, lost responses, late calls and restarts never make two. Without them there is one in the end."""
    candidates = Candidates(seed)
    for index, action, its_fates, pause_s in history:
        candidates.act(index, action, list(its_fates))
        candidates.time.pass_s(pause_s)
    for _ in range(6):
        for index in range(3):
            candidates.act(index, "step", [])
        candidates.time.pass_s(2.4)
    assert sum(lock.is_held() for lock in candidates.locks) == 1
