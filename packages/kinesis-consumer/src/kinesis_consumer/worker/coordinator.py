"""How one worker takes part in its group: a leader assigns leases, a worker that ends releases its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field

from kinesis_consumer.assignment import (
    HEARTBEATS,
    REPORT_S,
    Leader,
    LeaderLock,
    LeaderRun,
    OlderWorkers,
    read_report,
    report_alive,
)
from kinesis_consumer.shards import LeaseKeeper, delete_finished, needless_leases, verify_naming
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.outages import Outage, Periodic
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_core.leases import Lease, read_leases
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

VERIFICATION_S = 60.0
DISCOVERY_S = 1.0
CANDIDACY_S = 2.5
"""
The maximum time between two checks of the lock by a worker that does not lead. A leader that ends deletes it, and may have
released its leases to anybody. A heartbeat of a leader may take long: it is a part of a lease's duration.
"""
LEADING_S = 2.0
SECONDS_PER_LEASE = 0.02
"""A scan reads a lease with a tenth of a read unit, so scans use five units per second at most."""
CLEANUP_S = 60.0
ALIVE_S = 35.0
"""A worker that reported within this time gets leases from one that closes. The KCL reports each 30 s."""


@define
class Unassigned:
    """Counts the shards without a worker, and logs each number that stays."""

    max_leases: int
    settled_s: float
    """How long a number has to stay: a worker that has just come may still take some."""
    _count: int = field(default=0, init=False)
    _since_s: float = field(default=0.0, init=False)
    _logged: int = field(default=0, init=False)

    def note(self, count: int, now_s: float) -> None:
        """Note that *count* shards have no worker, because all have as many as they may have."""
        if count != self._count:
            self._count, self._since_s = count, now_s
        if self._count != self._logged and now_s - self._since_s >= self.settled_s:
            self._logged = self._count
            if self._count:
                log.warning("shards.unassigned", shards=self._count, max_leases=self.max_leases)


@define(eq=False)
class Coordinator:
    """Runs what is due of the coordination of one worker. Not thread-safe."""

    holder: LeaseHolder
    keeper: LeaseKeeper
    clock: Clock
    wall_clock: Clock
    rng: random.Random
    leader: Leader = field(init=False)
    """The leader's part. Its lock says whether this worker is the leader."""
    _leases: int = field(default=0, init=False)
    """How many leases the table had in the last scan."""
    _malformed: set[str] = field(factory=set, init=False)
    """Items that were warned of."""
    _unassigned: Unassigned = field(init=False)
    _listings: dict[str | None, Outage] = field(factory=dict, init=False)
    """Failed checks of the shards of each stream."""
    _periodic: list[Periodic] = field(init=False)

    def __attrs_post_init__(self) -> None:
        name, table, settings = self.holder.name, self.holder.table, self.holder.settings
        self.leader = Leader(
            name,
            table,
            LeaderLock(name, table, self.clock, self.rng, settings.lease_duration_s),
            self.clock,
            self.wall_clock,
            settings.lease_duration_s,
            self._keep,
            settings.hand_over_timeout_s,
            settings.max_leases,
            self.holder.streams.knows,
        )
        self._unassigned = Unassigned(settings.max_leases, settings.lease_duration_s)
        heartbeat_s = settings.lease_duration_s / HEARTBEATS
        self._periodic = [
            self._each("verification", self._verify, due_s=self.clock.now_s() + VERIFICATION_S),
            self._each("report", self._report),
            # Others have the lock once it has not been renewed for a while.
            self._each("leader's lock", self._lock, longest_retry_s=heartbeat_s),
            self._each("assignment", self._lead),
            self._each("discovery", self._discover),
            self._each("deletion", self._clean_up, due_s=self.clock.now_s() + CLEANUP_S),
        ]

    def _each(self, name: str, run: Callable[[], float], **more: float) -> Periodic:
        return Periodic(name, run, self.clock, self.rng, **more)

    def step(self) -> float:
        """
        Do what is due. Returns in how many seconds something is due again.

        Raises:
            GroupStateError: A worker of an older KCL works in the table.
            ServiceError: A store or stream refuses a call permanently.
        """
        for each in self._periodic:
            each.step()
        return max(0.0, min(each.due_s for each in self._periodic) - self.clock.now_s())

    def release(self, *, only_idle: bool = True) -> None:
        """
        Get no further leases, and release all, with the report and the leader's lock. Other workers have them at once. Idempotent.

        With *only_idle*, the leases of current batches stay. Each part is done whether or not the store fails for another one: then
        others have it once it expires.
        """
        loads: dict[str, int] = {}
        try:
            with _survived("report"):
                self.holder.table.delete(self.holder.name, {})
            with _survived("assignment"):
                loads = loads_of_others(self.leader, self.wall_clock)
        finally:
            try:
                self.holder.release_all(loads, only_idle=only_idle)
            finally:
                with _survived("leader's lock"):
                    self.leader.lock.release()

    def close(self) -> None:
        """Release all leases, and close the table."""
        try:
            self.release(only_idle=False)
        finally:
            self.holder.table.close()

    def _verify(self) -> float:
        OlderWorkers(self.holder.table.name, self.holder.name).verify(self.holder.table)
        return VERIFICATION_S

    def _report(self) -> float:
        streams = [stream_id for stream_id in self.holder.sources if stream_id is not None]
        period_s = min(REPORT_S, self.holder.settings.lease_duration_s)
        now_s = self.wall_clock.now_s()
        self.holder.table.update(report_alive(self.holder.name, now_s, period_s, streams))
        return period_s

    def _lock(self) -> float:
        lock = self.leader.lock
        was_held = lock.is_held()
        if not lock.step():
            return min(lock.heartbeat_s, CANDIDACY_S)
        if not was_held:
            log.info("leader.elected", worker=self.holder.name)
            self.keeper.begin()
        return lock.heartbeat_s

    def _lead(self) -> float:
        run = self.leader.run()
        if run is not None:
            self._note(run)
        elif self.leader.lock.suspects_leader():
            self.leader.watch()
        return scan_pause_s(self._leases, LEADING_S, self.holder.settings.lease_duration_s)

    def _keep(self, leases: Sequence[Lease]) -> bool:
        verify_naming(leases, named=None not in self.keeper.streams)
        findings = self.keeper.run(leases)
        for stream_id, error in findings.failed.items():
            if not error.retryable:
                raise error
            self._warn_of_listing(stream_id, error.code, error)
        for stream_id, stale in findings.refused.items():
            self._warn_of_listing(stream_id, "StaleListing", stale.reason)
        for lease in findings.unread:
            log.warning("shard.unread", lease=lease.key, checkpoint=str(lease.checkpoint))
        for lease in findings.created:
            log.info("lease.created", lease=lease.key, checkpoint=str(lease.checkpoint))
        return bool(findings.created)

    def _warn_of_listing(self, stream_id: str | None, code: str, reason: object) -> None:
        self._listings.setdefault(stream_id, Outage("creation")).warn(code, reason, self.clock.now_s())

    def _discover(self) -> float:
        self.holder.discover()
        return DISCOVERY_S

    def _note(self, run: LeaderRun) -> None:
        """Remember what a run has shown, and warn once of what this worker does not read: other streams, and malformed items."""
        self._leases = len(run.leases)
        self._unassigned.note(run.unassigned, self.clock.now_s())
        self.holder.streams.warn(run.leases)
        for key in set(run.malformed) - self._malformed:
            self._malformed.add(key)
            log.warning("lease.malformed", lease=key)

    def _clean_up(self) -> float:
        """Delete the leases of finished shards that are no longer needed."""
        if self.holder.shards.finished():
            leases, _ = read_leases(self.holder.table.scan())
            for lease in needless_leases(leases, self.holder.name, self.keeper.listings):
                if delete_finished(self.holder.table, lease, self.holder.name):
                    self.holder.shards.remove_finished(lease.key)
                    log.info("lease.deleted", lease=lease.key)
        return CLEANUP_S


def loads_of_others(leader: Leader, wall_clock: Clock) -> dict[str, int]:
    """
    Return how many shards each other worker reads that may be given leases; nothing if anybody may have them.

    That is the leader if it was heard of a moment ago: it finds out who is alive, and balances. Reports are older. A leader gives
    nothing to a worker whose report is young, but which does not renew its leases.
    """
    lock = leader.lock
    if lock.leader not in (None, leader.worker) and not lock.suspects_leader():
        return {str(lock.leader): 0}
    items = leader.table.scan()
    reports = [report for report in map(read_report, items) if report]
    now_s = wall_clock.now_s()
    alive = {report.worker for report in reports if now_s - report.updated <= min(ALIVE_S, report.active_s)}
    if lock.is_held():
        alive -= leader.suspects()
    loads = dict.fromkeys(sorted(alive - {leader.worker}), 0)
    for lease in read_leases(items)[0]:
        if lease.owner in loads and not lease.is_finished:
            loads[lease.owner] += 1
    return loads


@contextmanager
def _survived(task: str) -> Iterator[None]:
    """Log a failure of a store instead of raising it: the worker ends."""
    try:
        yield
    except ServiceError as error:
        log.warning("coordination.failed", task=task, code=error.code, reason=error, failures=1)


def scan_pause_s(leases: int, least_s: float, duration_s: float) -> float:
    """
    Return the pause between scans of a table with that many *leases*.

    It bounds what the scans of a large table cost. It is never longer than that of the KCL, twice the duration of a lease.
    """
    return min(max(least_s, leases * SECONDS_PER_LEASE), 2 * (duration_s + 0.025))
