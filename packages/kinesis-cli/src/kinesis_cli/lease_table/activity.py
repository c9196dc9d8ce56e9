"""Which workers run, as two scans of the table show. The table has no times of leases: a renewal only moves a counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

from attrs import frozen

from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_core.clock import Clock

FRESH_S = 60.0
"""A worker of KCL 3.5 reports each 30 s, and its leader believes a report for two periods."""

LEAST_WATCH_S = 3.5
"""
A shorter watch may see no renewal of a running worker. By default a worker renews its leases every 3.3 s, which is a third of the
lease duration.
"""
_PERIOD_S = 0.5


class Life(Enum):
    """Whether a worker runs."""

    RUNNING = "running"
    """It has written to the table while that was watched."""
    REPORTED = "reported"
    """It has not, but its last report is so young that it may run."""
    SILENT = "silent"
    """It has not, in the time of a renewal."""
    UNKNOWN = "not watched"
    """It was not watched for so long: it may run."""


@frozen
class SeenWorker:
    """A worker that owns leases or has reported."""

    name: str
    leases: int
    """The leases that it has and has not finished."""
    life: Life
    report_age_s: float | None = None
    is_leader: bool = False

    @property
    def may_run(self) -> bool:
        return self.life is not Life.SILENT


def find_workers(first: Snapshot, last: Snapshot, watched_s: float, wall_s: float) -> list[SeenWorker]:
    """Return the workers in *last*, which was read *watched_s* after *first*, at *wall_s* since the epoch."""
    owned = Counter(
        lease.actual_owner for lease in last.leases if lease.actual_owner and not lease.is_finished
    )
    owners = {lease.actual_owner for lease in last.leases if lease.actual_owner}
    writing = _writers(first, last)
    workers = []
    for name in sorted(owners | set(last.reports_s) | writing):
        report_s = last.reports_s.get(name)
        age_s = None if report_s is None else max(0.0, wall_s - report_s)
        life = _life(name in writing, age_s, watched_s)
        workers.append(SeenWorker(name, owned[name], life, age_s, name == last.leader))
    return workers


def _life(is_writing: bool, report_age_s: float | None, watched_s: float) -> Life:
    if is_writing:
        return Life.RUNNING
    if report_age_s is not None and report_age_s <= FRESH_S:
        return Life.REPORTED
    return Life.SILENT if watched_s >= LEAST_WATCH_S else Life.UNKNOWN


def _writers(first: Snapshot, last: Snapshot) -> set[str]:
    """Return the workers that have written between the two scans."""
    before = {lease.key: lease for lease in first.leases}
    found = {
        name for name, time_s in last.reports_s.items() if time_s != first.reports_s.get(name, time_s)
    } | (set(last.reports_s) - set(first.reports_s))
    for lease in last.leases:
        earlier = before.get(lease.key)
        if earlier is not None and earlier.counter != lease.counter:
            writer = lease.actual_owner or earlier.actual_owner
            found |= {writer} if writer else set()
    return found


@frozen
class Watched:
    """The table, and the workers."""

    snapshot: Snapshot
    workers: list[SeenWorker]
    watched_s: float
    """From the end of the first look to the start of the last one: a large table takes its time."""


def watch(look: Callable[[], Snapshot], for_s: float, steady: Clock, wall: Clock) -> Watched:
    """
    Return the last look at the table, at most *for_s* after the first one. It ends early once all workers are seen to run.

    A worker renews its leases three times in the time for which they are valid: every 3.3 seconds by default.
    """
    first = last = look()
    started_s = looked_s = steady.now_s()
    while True:
        watched_s = looked_s - started_s
        workers = find_workers(first, last, watched_s, wall.now_s())
        is_clear = all(worker.life is Life.RUNNING for worker in workers)
        if is_clear or watched_s >= for_s:
            return Watched(last, workers, watched_s)
        steady.sleep(min(_PERIOD_S, for_s - watched_s))
        looked_s = steady.now_s()
        last = look()
