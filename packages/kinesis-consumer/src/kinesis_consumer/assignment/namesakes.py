"""
Whether another process has the name of this worker. Both would take the same leases for their own, and commit the same batches.

A process that was killed leaves leases that name its worker, and one that is started again with that name has to get them. Only the
counters of the leases tell a dead process from one that runs. So each process marks the leases that it takes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from hashlib import sha256

from attrs import define, evolve, field, frozen

from kinesis_consumer.assignment.metrics import read_report
from kinesis_consumer.errors import WorkerNameInUseError
from kinesis_core.clock import Clock
from kinesis_core.leases import PROCESS, Item, Lease, read_leases

MOVES = 2
"""So many writes to a lease show that its worker runs. One may be a leader's, or was under way when the worker was killed."""
FORGOTTEN = 3
"""A lease that was not checked for this many lease durations may have had other owners."""
_DIGITS = 12
"""Digits of what tells processes and names apart. A lease must fit into 1 KB, for which DynamoDB charges one write."""


@frozen
class _Sighting:
    process: str
    first: int
    counter: int
    changed_s: float
    """When the counter was first seen with this value."""
    looked_s: float
    """When the lease was looked at last."""


def _new_process() -> str:
    return uuid.uuid4().hex[:_DIGITS]


def _digest(worker: str) -> str:
    """Return what stands for the name of a worker, which may be long."""
    return sha256(worker.encode()).hexdigest()[:_DIGITS]


def is_marked(lease: Lease) -> bool:
    """Return whether the worker that has *lease* has marked it, as all workers of this package do."""
    _, _, digest = (lease.process or "").partition(" ")
    return lease.actual_owner is not None and digest == _digest(lease.actual_owner)


@define
class Namesakes:
    """What one worker knows of other processes with its name. Not thread-safe."""

    worker: str
    duration_s: float
    """How long a lease is valid."""
    clock: Clock
    process: str = field(factory=_new_process)
    """What no other process has, also none with the name of this worker."""
    _seen: dict[str, _Sighting] = field(factory=dict, init=False)
    _reported: list[int] = field(factory=list, init=False)
    """When a process with this name said last that it is alive; nothing if it did not."""

    @property
    def mark(self) -> Item:
        """What a lease gets that this process takes."""
        return {PROCESS: f"{self.process} {_digest(self.worker)}"}

    def has(self, lease: Lease) -> bool:
        """Return whether another process with the name of this worker has marked *lease*."""
        return self._marked_by(lease) not in (None, self.process)

    def may_take(self, lease: Lease, *, holds_any: bool) -> bool:
        """
        Return whether this process may take *lease*, which names its worker, and which it does not hold.

        A lease of another process is free once it stands still for as long as it is valid.

        Raises:
            WorkerNameInUseError: The other process runs. If both have leases, only one of the two gets the error.
        """
        process = self._marked_by(lease)
        if process is None or not self.has(lease):
            self._seen.pop(lease.key, None)
            return True
        seen = self._look(lease, process)
        if self._runs(seen) and (not holds_any or self.process > process):
            raise self._error()
        return self.clock.now_s() - seen.changed_s >= self.duration_s

    def look(self, items: Iterable[Item]) -> bool:
        """
        Look at *items*, which are all of the table, before this worker begins. Returns whether another look may find a process with
        its name.

        Raises:
            WorkerNameInUseError: One runs: it has renewed a lease, or reported, since an earlier look.
        """
        read = [*items]
        own = [lease for lease in read_leases(read)[0] if lease.actual_owner == self.worker]
        reports = [report for report in map(read_report, read) if report and report.worker == self.worker]
        last, self._reported = self._reported, [report.updated for report in reports]
        has_reported = bool(last and reports and last != self._reported)
        if has_reported or any(self._runs(self._look(each, self._marked_by(each) or "")) for each in own):
            raise self._error()
        return bool(own or reports)

    def _marked_by(self, lease: Lease) -> str | None:
        """Return the process that has taken *lease* under the name of this worker, if any."""
        process, _, digest = (lease.process or "").partition(" ")
        return process if digest == _digest(self.worker) else None

    def _look(self, lease: Lease, process: str) -> _Sighting:
        seen, now_s = self._seen.get(lease.key), self.clock.now_s()
        if seen is None or seen.process != process or now_s - seen.looked_s > FORGOTTEN * self.duration_s:
            seen = _Sighting(process, lease.counter, lease.counter, now_s, now_s)
        changed_s = seen.changed_s if seen.counter == lease.counter else now_s
        self._seen[lease.key] = evolve(seen, counter=lease.counter, changed_s=changed_s, looked_s=now_s)
        return self._seen[lease.key]

    def _runs(self, seen: _Sighting) -> bool:
        return seen.counter - seen.first >= MOVES

    def _error(self) -> WorkerNameInUseError:
        return WorkerNameInUseError(
            f"Another running process has the name of this worker, '{self.worker}'. Give each worker of the group its own name, "
            "or no name: then each process gets a new name."
        )
