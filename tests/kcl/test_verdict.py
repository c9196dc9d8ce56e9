"""The verdict on workers of a group, by what they print."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from support.kcl.event_process import Event
from support.kcl.verdict import Verdict, judge

SHARD = "shardId-000000000000"


def table(reached: int | str) -> dict[str, dict[str, Any]]:
    lease = {"checkpoint": str(reached), "checkpointSubSequenceNumber": 0}
    return {} if reached == "gone" else {SHARD: lease}


class Printed:
    """A worker whose events are given. The number of a record is its data and its sequence number."""

    def __init__(self, at: Iterator[int]) -> None:
        self._at = at
        self._events: list[Event] = []

    def events(self) -> list[Event]:
        return self._events

    def gains(self) -> None:
        self._show("initialized")

    def has(self, *numbers: int) -> None:
        self._show("records", records=[[str(number), 0, "key", str(number)] for number in numbers])

    def commits(self, number: int | str) -> None:
        self._show("checkpointed", checkpoint=[str(number), 0])

    def loses(self) -> None:
        self._show("leaseLost")

    def ends(self, reached: int | str = "SHARD_END") -> None:
        """End without a word. The table says how far the shard is then; "gone" is a lease that was deleted."""
        self._show("left", leases=table(reached))

    def dies(self, reached: int | str) -> None:
        self.ends(reached)
        self._show("killed")

    def stops(self, reached: int | str) -> None:
        self._show("stopped")
        self.ends(reached)

    def _show(self, event: str, **facts: Any) -> None:
        self._events.append({"event": event, "at": next(self._at), "shard": SHARD, **facts})


@pytest.fixture
def workers() -> tuple[Printed, Printed]:
    at = count()
    return Printed(at), Printed(at)


def verdict(workers: tuple[Printed, Printed], sent: int, reached: int | str = "SHARD_END") -> Verdict:
    printed = [worker.events() for worker in workers]
    return judge(printed, [str(number) for number in range(sent)], table(reached))


def test_what_was_not_committed_may_come_again(workers: tuple[Printed, Printed]) -> None:
    """The next worker goes on behind the commit."""
    first, second = workers
    first.gains()
    first.has(0, 1)
    first.commits(1)
    first.has(2, 3)
    second.gains()
    second.has(2, 3, 4)
    second.commits("SHARD_END")
    assert verdict(workers, 5) == Verdict([], [], [], ["2", "3"], [], [])


def test_what_was_committed_may_not(workers: tuple[Printed, Printed]) -> None:
    """The next worker begins too early."""
    first, second = workers
    first.gains()
    first.has(0, 1)
    first.commits(1)
    second.gains()
    second.has(1, 2)
    second.commits(2)
    assert verdict(workers, 3).faults == {"unexplained": ["1"]}


def test_two_commits_of_one_record_are_a_fault(workers: tuple[Printed, Printed]) -> None:
    """Two workers believed that they had the shard."""
    first, second = workers
    first.gains()
    second.gains()
    for worker in workers:
        worker.has(0)
    for worker in workers:
        worker.commits(0)
    assert verdict(workers, 1).faults == {"unexplained": ["0"]}


def test_a_worker_that_lost_its_shard_may_go_on_for_a_while(workers: tuple[Printed, Printed]) -> None:
    """It cannot commit what it delivers late, so the other worker's order counts."""
    first, second = workers
    first.gains()
    first.has(0)
    second.gains()
    second.has(0, 1, 2)
    second.commits(2)
    first.has(1, 2)
    second.has(3)
    second.commits(3)
    assert verdict(workers, 4) == Verdict([], [], [], ["0", "1", "2"], [], [])


def test_records_twice_in_one_turn_are_a_fault(workers: tuple[Printed, Printed]) -> None:
    """Nothing is delivered again to the worker that still has it."""
    first, _ = workers
    first.gains()
    first.has(0, 1)
    first.has(1, 2)
    first.commits(2)
    assert verdict(workers, 3).faults == {"unexplained": ["1"]}


def test_lost_and_foreign_records_are_faults(workers: tuple[Printed, Printed]) -> None:
    """Each record that was put has to come, and no other one."""
    first, _ = workers
    first.gains()
    first.has(0, 2, 7)
    first.commits(7)
    assert verdict(workers, 3).faults == {"lost": ["1"], "unexplained": ["7"]}


def test_a_key_out_of_order_is_a_fault(workers: tuple[Printed, Printed]) -> None:
    """A later record was processed first, by another worker."""
    first, second = workers
    second.gains()
    second.has(1)
    second.commits(1)
    first.gains()
    first.has(0)
    first.commits(0)
    assert verdict(workers, 2).faults == {"disordered": ["0"]}


@pytest.mark.parametrize("reached", ["TRIM_HORIZON", "0"])
def test_what_nobody_commits_is_a_fault(workers: tuple[Printed, Printed], reached: str) -> None:
    """It must come again, also when the worker that had it is killed, or has lost the shard."""
    first, second = workers
    first.gains()
    first.has(0, 1)
    first.commits(0)
    assert verdict(workers, 2).faults == {"uncommitted": ["1"]}
    first.dies(reached)
    second.gains()
    second.has(2)
    second.commits(2)
    assert verdict(workers, 3).faults == {"uncommitted": ["1"]}


@pytest.mark.parametrize("reached", [1, "SHARD_END", "gone"])
def test_a_commit_that_nobody_speaks_of(workers: tuple[Printed, Printed], reached: int | str) -> None:
    """A worker that dies may have committed what it had. One that ends in order says so, and one without the shard cannot."""
    first, second = workers
    first.gains()
    first.has(0, 1)
    first.dies(reached)
    assert not verdict(workers, 2).faults
    second.gains()
    second.has(2)
    second.stops(reached)
    assert verdict(workers, 3).faults == {"uncommitted": ["2"]}


def test_a_worker_that_dies_without_its_shard(workers: tuple[Printed, Printed]) -> None:
    """Others have committed what the table says then."""
    first, _ = workers
    first.gains()
    first.has(0)
    first.loses()
    first.dies("SHARD_END")
    assert verdict(workers, 1).faults == {"uncommitted": ["0"]}


@pytest.mark.parametrize(
    ("reached", "unwritten"), [(0, ["1"]), ("TRIM_HORIZON", ["0", "1"]), (1, []), ("gone", [])]
)
def test_a_commit_that_is_not_in_the_table(
    workers: tuple[Printed, Printed], reached: int | str, unwritten: list[str]
) -> None:
    """What a worker says that it committed is in the table."""
    first, _ = workers
    first.gains()
    first.has(0, 1)
    first.commits(1)
    assert verdict(workers, 2, reached).unwritten == unwritten


def test_a_worker_that_ends_by_itself_is_a_fault(workers: tuple[Printed, Printed]) -> None:
    """Nobody killed it, and it did not stop in order."""
    first, second = workers
    for worker in workers:
        worker.gains()
    first.stops("SHARD_END")
    second.ends()
    assert verdict(workers, 0).faults == {"crashed": ["1"]}
