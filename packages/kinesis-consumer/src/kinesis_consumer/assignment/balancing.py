"""What a leader decides: which worker gets a lease that has none, and which lease moves so that all workers have equally many."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from attrs import define, frozen

from kinesis_core.leases import Lease


@frozen
class Assign:
    """*worker* gets *lease* at once: no worker reads its shard."""

    lease: Lease
    worker: str


@frozen
class BeginHandOver:
    """The owner of *lease* commits what it has read, and then hands the lease over to *worker*."""

    lease: Lease
    worker: str


Decision = Assign | BeginHandOver
Knows = Callable[[str, Lease], bool]
"""Whether a worker can read the shard of a lease: it may have been opened with other streams."""


def _knows_all(_worker: str, _lease: Lease) -> bool:
    return True


def decide(
    leases: Sequence[Lease],
    workers: Collection[str],
    expired: Collection[str],
    overdue: Collection[str],
    max_leases: int = sys.maxsize,
    knows: Knows = _knows_all,
) -> list[Decision]:
    """
    Return what a leader does about *leases*, all leases of the table.

    *workers* are those that may be given leases. *expired* are the keys of leases whose worker does not renew them, *overdue*
    those of leases whose worker has not handed them over in time. Nothing is decided about other leases that are being handed
    over: they count for their next owner.

    Only unfinished leases are balanced: a lease at the end of its shard causes no work. No worker gets more than *max_leases* of
    them, or one that it does not *know*; those that are left wait for another worker.
    """
    free = [
        lease
        for lease in leases
        if lease.actual_owner is None or lease.key in expired or lease.key in overdue
    ]
    freed = {lease.key for lease in free}
    settled = [lease for lease in leases if lease.key not in freed]
    loads = _Loads(dict.fromkeys(workers, 0), dict.fromkeys(workers, 0), max_leases, knows)
    for lease in settled:
        loads.add(lease, lease.owner)
    decisions: list[Decision] = []
    for lease in free:
        worker = loads.give(lease)
        if worker is not None:
            decisions.append(Assign(lease, worker))
    decisions += _balance(settled, loads)
    return decisions


@define
class _Loads:
    """How many leases each worker has, those included that it is about to get."""

    unfinished: dict[str, int]
    all: dict[str, int]
    max_leases: int
    knows: Knows

    def add(self, lease: Lease, worker: str | None, count: int = 1) -> None:
        if worker in self.unfinished:
            self.unfinished[worker] += 0 if lease.is_finished else count
            self.all[worker] += count

    def rank(self, worker: str) -> tuple[int, int, str]:
        """Return what orders workers by their work."""
        return self.unfinished[worker], self.all[worker], worker

    def give(self, lease: Lease) -> str | None:
        """
        Return the worker that gets *lease*: one with the least work, and of these the next owner if a hand-over has begun.

        None if all workers that know its stream have as many leases as they may have.
        """
        able = [worker for worker in self.unfinished if self.knows(worker, lease)]
        if not able:
            return None
        worker = min(able, key=self.rank)
        following = lease.owner if lease.checkpoint_owner is not None else None
        if following in able and self.unfinished[following] == self.unfinished[worker]:
            worker = following
        if not lease.is_finished and self.unfinished[worker] >= self.max_leases:
            return None
        self.add(lease, worker)
        return worker


def _balance(settled: Iterable[Lease], loads: _Loads) -> list[Decision]:
    """Return the hand-overs after which no worker has two leases more than another one that could have one of them."""
    movable: dict[str, list[Lease]] = {worker: [] for worker in loads.unfinished}
    for lease in settled:
        if lease.owner in movable and lease.checkpoint_owner is None and not lease.is_finished:
            movable[lease.owner].append(lease)
    decisions: list[Decision] = []
    while (move := next(_moves(movable, loads), None)) is not None:
        source, lease, to = move
        movable[source].remove(lease)
        loads.add(lease, source, -1)
        loads.add(lease, to)
        decisions.append(BeginHandOver(lease, to))
    return decisions


def _moves(movable: dict[str, list[Lease]], loads: _Loads) -> Iterator[tuple[str, Lease, str]]:
    """Yield the moves that balance, the best first: from one of the workers with most leases to one of those with least."""
    for to in sorted(loads.unfinished, key=loads.rank):
        sources = [
            worker
            for worker, theirs in movable.items()
            if theirs and loads.unfinished[worker] >= loads.unfinished[to] + 2
        ]
        for source in sorted(sources, key=lambda worker: (loads.unfinished[worker], worker), reverse=True):
            for lease in reversed(movable[source]):
                if loads.knows(to, lease):
                    yield source, lease, to
