"""
How workers of the KCL 2.x share leases: each one scans the table and takes for itself what it is short of.

Source: DynamoDBLeaseTaker of the KCL 2.7 and 3.5
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from attrs import Factory, define, field, frozen

from kinesis_consumer.assignment.items import read_leases
from kinesis_consumer.assignment.namesakes import Namesakes
from kinesis_consumer.assignment.sightings import Sightings
from kinesis_consumer.leases import take
from kinesis_consumer.stores import ItemTable
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError
from kinesis_core.leases import Lease

_SLOW_SCAN = 1 / 6
"""A scan that takes this part of a lease's duration, half the time between renewals, has read counters that are old."""


@frozen
class TakingLimits:
    max_leases: int = sys.maxsize
    """How many leases one worker has at most."""
    max_steals: int = 1
    """How many leases one worker takes from another at a time."""


@frozen
class Choice:
    """Leases to take."""

    leases: tuple[Lease, ...] = ()
    is_steal: bool = False
    """Whether another worker has them."""


@frozen
class Taken:
    """A lease that this worker has taken."""

    lease: Lease
    """As it is now, with its new counter."""
    sent_s: float
    """When it was sent that the lease is taken. It is valid for one duration from then on."""


def choose_leases(
    leases: Sequence[Lease],
    sightings: Sightings,
    now_s: float,
    worker: str,
    rng: random.Random,
    limits: TakingLimits,
) -> Choice:
    """Return which of all *leases* of the table *worker* takes. *sightings* have seen them."""
    available = [lease for lease in leases if sightings.is_available(lease, now_s)]
    loads = _loads(leases, available, worker)
    target = min(_share(len(leases), len(loads)), limits.max_leases) if leases else 0
    if very_old := [lease for lease in leases if sightings.is_very_old(lease, now_s)]:
        room = max(0, limits.max_leases - loads[worker])
        return Choice(_pick(very_old, room, rng))
    needed = target - loads[worker]
    if needed <= 0:
        return Choice()
    if available:
        return Choice(_pick(available, needed, rng))
    return _steal(leases, loads, needed, target, rng, limits)


def _loads(leases: Sequence[Lease], available: Sequence[Lease], worker: str) -> Counter[str]:
    """Return how many leases each live worker has. Workers without any are not known, except *worker* itself."""
    free = {lease.key for lease in available}
    loads = Counter(lease.actual_owner for lease in leases if lease.actual_owner and lease.key not in free)
    loads[worker] += 0
    return loads


def _share(leases: int, workers: int) -> int:
    """Return how many leases a worker should have, rounded up."""
    return -(-leases // workers)


def _steal(
    leases: Sequence[Lease],
    loads: Counter[str],
    needed: int,
    target: int,
    rng: random.Random,
    limits: TakingLimits,
) -> Choice:
    most = max(loads.values())  # no less than the target: all leases have a worker here
    count = min(max(most - target, 1 if needed > 1 else 0), needed, limits.max_steals)
    if count == 0:
        return Choice()
    victim = rng.choice(sorted(worker for worker, load in loads.items() if load == most))
    theirs = [lease for lease in leases if lease.actual_owner == victim]
    return Choice(_pick(theirs, count, rng), is_steal=True)


def _pick(leases: Sequence[Lease], count: int, rng: random.Random) -> tuple[Lease, ...]:
    return tuple(rng.sample(leases, min(count, len(leases))))


@define
class LeaseTaker:
    """Takes leases for one worker. Not thread-safe."""

    worker: str
    table: ItemTable
    sightings: Sightings
    clock: Clock
    rng: random.Random
    limits: TakingLimits = TakingLimits()
    knows: Callable[[Lease], bool] = lambda _lease: True
    """Whether this worker can read the shard of a lease. It leaves others alone, and does not count them."""
    namesakes: Namesakes = field(
        default=Factory(
            lambda self: Namesakes(self.worker, self.sightings.duration_s, self.clock), takes_self=True
        )
    )
    leases: list[Lease] = field(factory=list, init=False)
    """All leases of the last scan, before anything was taken."""
    malformed: list[str] = field(factory=list, init=False)
    """The keys of items in it that should be leases and cannot be read."""
    unassigned: int = field(default=0, init=False)
    """How many unfinished leases nobody had after it, while this worker had as many as it may have."""

    def run(self, held: Collection[str] = ()) -> list[Taken]:
        """
        Scan the table once, and take what this worker is short of. *held* are the keys of the leases that it has.

        A lease that names this worker and that it does not hold is taken as well. It has taken it and the response was lost,
        or it had it before it was started again.

        Raises:
            WorkerNameInUseError: Another process has the name of this worker.
            ServiceError: Nothing was taken because the table failed. After a failure later on the run ends early.
        """
        started_s = self.clock.now_s()
        self.leases, self.malformed = read_leases(self.table.scan())
        now_s = self.clock.now_s()
        self.sightings.look(self.leases, now_s)
        known = [lease for lease in self.leases if self.knows(lease)]
        own = [
            lease
            for lease in known
            if lease.owner == self.worker and lease.checkpoint_owner is None and lease.key not in held
            if self.namesakes.may_take(lease, holds_any=bool(held))
        ]
        choice = choose_leases(known, self.sightings, now_s, self.worker, self.rng, self.limits)
        is_old = choice.is_steal and now_s - started_s > _SLOW_SCAN * self.sightings.duration_s
        chosen = {lease.key: lease for lease in (*own, *choice.leases)}
        taken = self._take(list(chosen.values()), is_old)
        self.unassigned = self._count_unassigned(known, {each.lease.key for each in taken}, now_s)
        return taken

    def _count_unassigned(self, leases: Sequence[Lease], taken: Collection[str], now_s: float) -> int:
        free = [
            lease for lease in leases if self.sightings.is_available(lease, now_s) and lease.key not in taken
        ]
        load = _loads(leases, free, self.worker)[self.worker]
        is_full = load >= self.limits.max_leases
        return sum(not lease.is_finished for lease in free) if is_full else 0

    def _take(self, leases: Sequence[Lease], is_old: bool) -> list[Taken]:
        taken: list[Taken] = []
        try:
            for lease in leases:
                present = self._read_again(lease) if is_old else lease
                sent_s = self.clock.now_s()
                item = self.table.update(take(present, self.worker, self.namesakes.mark)) if present else None
                taken += [Taken(found, sent_s) for found in read_leases([item] if item else [])[0]]
        except ServiceError:
            if not taken:
                raise
        return taken

    def _read_again(self, lease: Lease) -> Lease | None:
        """Return *lease* as it is now; None if it has another owner."""
        item = self.table.get(lease.key)
        found, _ = read_leases([item] if item else [])
        return found[0] if found and found[0].actual_owner == lease.actual_owner else None
