"""What a leader decides: which worker gets a lease that has none, and which lease moves so that all workers have equally many."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

from attrs import define, frozen

from kinesis_core.leases import Lease


@frozen
class Assign:
    """*worker* gets *lease* at once: nobody reads it."""

    lease: Lease
    worker: str


@frozen
class BeginHandOver:
    """The owner of *lease* commits what it has read, and then hands the lease over to *worker*."""

    lease: Lease
    worker: str


Decision = Assign | BeginHandOver


def decide(
    leases: Sequence[Lease],
    workers: Collection[str],
    expired: Collection[str],
    overdue: Collection[str],
    max_leases: int = sys.maxsize,
) -> list[Decision]:
    """
    Return what a leader does about *leases*, all leases of the table.

    *workers* are those that may be given leases. *expired* are the keys of leases whose worker does not renew them, *overdue*
    those of leases whose worker has not handed them over in time. Nothing is decided about other leases that are being handed
    over: they count for their next owner.

    Only unfinished leases are balanced: a lease at the end of its shard is no work. No worker gets more than *max_leases* of them;
    those that are left wait for another worker.
    """
    if not workers:
        return []
    free = [
        lease
        for lease in leases
        if lease.actual_owner is None or lease.key in expired or lease.key in overdue
    ]
    freed = {lease.key for lease in free}
    settled = [lease for lease in leases if lease.key not in freed]
    loads = _Loads(dict.fromkeys(workers, 0), dict.fromkeys(workers, 0), max_leases)
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

    def add(self, lease: Lease, worker: str | None, count: int = 1) -> None:
        if worker in self.unfinished:
            self.unfinished[worker] += 0 if lease.is_finished else count
            self.all[worker] += count

    def least(self) -> str:
        return min(self.unfinished, key=lambda worker: (self.unfinished[worker], self.all[worker], worker))

    def give(self, lease: Lease) -> str | None:
        """
        Return the worker that gets *lease*: one with the least work, and of these the next owner if a hand-over has begun.

        None if all workers have as many leases as they may have.
        """
        worker = self.least()
        following = lease.owner if lease.checkpoint_owner is not None else None
        if following is not None and self.unfinished.get(following) == self.unfinished[worker]:
            worker = following
        if not lease.is_finished and self.unfinished[worker] >= self.max_leases:
            return None
        self.add(lease, worker)
        return worker


def _balance(settled: Iterable[Lease], loads: _Loads) -> list[Decision]:
    """Return the hand-overs after which no worker has two leases more than another one."""
    movable: dict[str, list[Lease]] = {worker: [] for worker in loads.unfinished}
    for lease in settled:
        if lease.owner in movable and lease.checkpoint_owner is None and not lease.is_finished:
            movable[lease.owner].append(lease)
    decisions: list[Decision] = []
    while True:
        least = loads.least()
        sources = [
            worker
            for worker, theirs in movable.items()
            if theirs and loads.unfinished[worker] >= loads.unfinished[least] + 2
        ]
        if not sources:
            return decisions
        source = max(sources, key=lambda worker: (loads.unfinished[worker], worker))
        lease = movable[source].pop()
        loads.add(lease, source, -1)
        loads.add(lease, least)
        decisions.append(BeginHandOver(lease, least))
