"""The leader of a group: it gives every lease to a worker that is alive, and all workers equally many."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field, frozen

from kinesis_consumer.assignment.balancing import Assign, Decision, decide
from kinesis_consumer.assignment.lock import LeaderLock
from kinesis_consumer.assignment.metrics import UPDATED, Roster, read_report
from kinesis_consumer.assignment.older_kcl import OlderWorkers
from kinesis_consumer.leases import assign, begin_hand_over
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError
from kinesis_core.leases import Lease, read_leases

HAND_OVER_S = 30.0
FAILURES = 3
"""Number of failed runs in a row after which a leader releases its lock, as in the KCL. Another worker may be able to reach the table."""


@frozen
class LeaderRun:
    """What one run has done."""

    leases: tuple[Lease, ...]
    """All leases, as they were before the run."""
    workers: frozenset[str]
    """The workers that may be given leases."""
    done: tuple[Decision, ...]
    refused: tuple[Decision, ...]
    """Decisions that a change of the lease in between has made void. The next run decides again."""
    malformed: tuple[str, ...]
    """The keys of items that should be leases and cannot be read."""
    unassigned: int
    """The number of unfinished leases of known streams without a worker, because every worker has its maximum."""


@define
class _View:
    """What a scan has shown."""

    leases: list[Lease]
    malformed: list[str]
    expired: set[str]
    overdue: set[str]
    workers: set[str]


@define
class Leader:
    """The leader's part of one worker. Not thread-safe."""

    worker: str
    table: ItemTable
    lock: LeaderLock
    clock: Clock
    wall_clock: Clock
    duration_s: float
    """How long a lease is valid."""
    sync_shards: Callable[[Sequence[Lease]], bool] = lambda _leases: False
    """
    Makes the leases that are missing among those that it is called with, and returns whether it has made some. These are
    assigned in the same run.
    """
    hand_over_s: float = HAND_OVER_S
    max_leases: int = sys.maxsize
    """How many leases any worker gets at most. The leader's setting counts for all, as in the KCL."""
    knows: Callable[[Lease], bool] = lambda _lease: True
    """Whether this worker can read the shard of a lease."""
    _sightings: Sightings = field(init=False)
    _roster: Roster = field(factory=Roster, init=False)
    _older: OlderWorkers = field(init=False)
    _failures: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._sightings = Sightings(self.duration_s)
        self._older = OlderWorkers(self.table.name, self.worker)

    def watch(self) -> None:
        """
        Scan, and change nothing. A worker that may soon be the leader does so, to know by then which leases stand still.

        Raises:
            GroupStateError: As for `run`.
            ServiceError: The table failed.
        """
        self._look()

    def run(self) -> LeaderRun | None:
        """
        Scan, decide and write. Returns what was done; None if this worker is not the leader.

        Raises:
            GroupStateError: A worker of an older KCL renews its leases in this table. Nothing was written since it did.
            ServiceError: A table or the stream failed. The next run does what is left. After three failures in a row the
                lock is given up.
        """
        if not self.lock.is_held():
            return None
        try:
            run = self._run()
        except ServiceError:
            self._failures += 1
            if self._failures >= FAILURES:
                self._failures = 0
                self.lock.release()
            raise
        self._failures = 0
        return run

    def suspects(self) -> set[str]:
        """Return the workers that seemed dead in the last scan."""
        return self._roster.suspects()

    def _run(self) -> LeaderRun:
        view = self._look()
        done, refused = self._carry_out(view)
        if self.lock.is_held():
            self._delete_forgotten()
        if self.lock.is_held() and self.sync_shards(view.leases):
            view = self._look()
            more_done, more_refused = self._carry_out(view)
            done, refused = done + more_done, refused + more_refused
        return LeaderRun(
            tuple(view.leases),
            frozenset(view.workers),
            tuple(done),
            tuple(refused),
            tuple(view.malformed),
            self._count_unassigned(view, [*done, *refused]),
        )

    def _count_unassigned(self, view: _View, decisions: Sequence[Decision]) -> int:
        decided = {decision.lease.key for decision in decisions}
        return sum(
            lease.key not in decided and not lease.is_finished and self.knows(lease)
            for lease in view.leases
            if lease.actual_owner is None or lease.key in view.expired
        )

    def _look(self) -> _View:
        items = self.table.scan()
        self._older.look(items)
        reports = [report for report in map(read_report, items) if report]
        leases, malformed = read_leases(items)
        now_s = self.clock.now_s()
        self._sightings.look(leases, now_s)
        expired = [lease for lease in leases if self._sightings.is_expired(lease, now_s)]
        working = {lease.actual_owner for lease in leases if lease.actual_owner} - {
            lease.actual_owner for lease in expired
        }
        self._roster.look(reports, now_s, self.wall_clock.now_s(), working)
        self._roster.suspect(lease.actual_owner for lease in expired if lease.actual_owner)
        limit_s = self.hand_over_s + self.duration_s
        overdue = {lease.key for lease in leases if self._sightings.hand_over_s(lease, now_s) >= limit_s}
        # A worker that leads is alive, whatever its own report says.
        workers = self._roster.active(now_s) | {self.worker}
        return _View(leases, malformed, {lease.key for lease in expired}, overdue, workers)

    def _carry_out(self, view: _View) -> tuple[list[Decision], list[Decision]]:
        done: list[Decision] = []
        refused: list[Decision] = []
        for decision in decide(
            view.leases, view.workers, view.expired, view.overdue, self.max_leases, self._knows
        ):
            if not self.lock.is_held():
                break
            item = self.table.update(_update_of(decision))
            (refused if item is None else done).append(decision)
        return done, refused

    def _knows(self, worker: str, lease: Lease) -> bool:
        return self.knows(lease) if worker == self.worker else self._roster.knows(worker, lease.stream_id)

    def _delete_forgotten(self) -> None:
        for report in self._roster.forgotten(self.clock.now_s()):
            self.table.delete(report.worker, {UPDATED: report.updated})


def _update_of(decision: Decision) -> Update:
    make = assign if isinstance(decision, Assign) else begin_hand_over
    return make(decision.lease, decision.worker)


@frozen
class _Sighting:
    """What was seen of one lease."""

    counter: int
    changed_s: float
    """When the counter was first seen with this value."""
    owners: tuple[str | None, str | None]
    owners_s: float
    """When these owners were first seen."""
    is_confirmed: bool = True
    """Whether the worker that reads the lease may know that it does. It does not when the lease has just been given to it."""


@define
class Sightings:
    """
    What was seen of all leases, with times of this process's steady clock. No time of another machine is used.

    A worker stops at the latest one duration after it *sent* its last renewal. That renewal was seen later than it was
    sent, so a lease that is expired here has no worker any more.
    """

    duration_s: float
    """How long a lease is valid without a renewal."""
    _seen: dict[str, _Sighting] = field(factory=dict, init=False)

    def look(self, leases: Iterable[Lease], now_s: float) -> None:
        """Remember *leases*, which are all leases of the table. *now_s* is the time *after* they were read."""
        self._seen = {lease.key: _look(self._seen.get(lease.key), lease, now_s) for lease in leases}

    def is_expired(self, lease: Lease, now_s: float) -> bool:
        """Return whether *lease* has a worker that does not renew it any more."""
        seen = self._seen.get(lease.key)
        if lease.actual_owner is None or seen is None:
            return False
        # A KCL finds a lease that was given to it only after up to ten seconds.
        return now_s - seen.changed_s >= self.duration_s * (1 if seen.is_confirmed else 2)

    def hand_over_s(self, lease: Lease, now_s: float) -> float:
        """Return for how long *lease* is being handed over by its worker to the next one, as far as this process knows."""
        seen = self._seen.get(lease.key)
        return now_s - seen.owners_s if seen and lease.checkpoint_owner is not None else 0.0


def _look(last: _Sighting | None, lease: Lease, now_s: float) -> _Sighting:
    owners = lease.owner, lease.checkpoint_owner
    if last is None:
        return _Sighting(lease.counter, now_s, owners, now_s)
    has_changed = lease.counter != last.counter
    has_new_worker = lease.actual_owner != (last.owners[1] or last.owners[0])
    return _Sighting(
        lease.counter,
        now_s if has_changed or has_new_worker else last.changed_s,
        owners,
        now_s if owners != last.owners else last.owners_s,
        not has_new_worker and (has_changed or last.is_confirmed),
    )
