"""How one worker gets its leases: it takes them, or a leader assigns them, as the table says. It may be the leader."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack

from attrs import define, field

from kinesis_consumer.assignment import (
    HEARTBEATS,
    REPORT_S,
    Coordination,
    Layout,
    LeaseTaker,
    Mode,
    ModeReader,
    Sightings,
    TakingLimits,
    elect_auditor,
    read_leases,
    scan_pause_s,
)
from kinesis_consumer.shards import LeaseKeeper, delete_finished, needless_leases, verify_naming
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.leaving import retire
from kinesis_consumer.worker.outages import Outage, Periodic
from kinesis_consumer.worker.roles import Roles, roles_of
from kinesis_consumer.worker.tables import GroupTables
from kinesis_consumer.worker.unassigned import Unassigned
from kinesis_core.clock import Clock
from kinesis_core.leases import Lease
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

MODE_S = 60.0
DISCOVERY_S = 1.0
CANDIDACY_S = 2.5
"""
How often at least a worker that does not lead looks at the lock. A leader that leaves deletes it, and may have left its leases to
anybody. A heartbeat of a leader may take long: it is a part of a lease's duration.
"""
TAKING_S = 1.5
LEADING_S = 2.0
KEEPING_S = 30.0
CLEANUP_S = 60.0


@define(eq=False)
class Coordinator:
    """Runs what is due of the coordination of one worker. Not thread-safe."""

    worker: LeaseHolder
    tables: GroupTables
    keeper: LeaseKeeper
    clock: Clock
    wall_clock: Clock
    rng: random.Random
    wanted: Mode | None = None
    _reader: ModeReader = field(init=False)
    _now: Coordination | None = field(default=None, init=False)
    _taker: LeaseTaker = field(init=False)
    _roles: Roles = field(factory=Roles, init=False)
    _leases: int = field(default=0, init=False)
    """How many leases the table had in the last scan."""
    _malformed: set[str] = field(factory=set, init=False)
    """Items that were warned of."""
    _unassigned: Unassigned = field(init=False)
    _listings: dict[str | None, Outage] = field(factory=dict, init=False)
    """Failed looks at the shards of each stream."""
    _periodic: list[Periodic] = field(init=False)

    def __attrs_post_init__(self) -> None:
        name, table, settings = self.worker.name, self.tables.leases, self.worker.settings
        self._reader = ModeReader(name, table, self.tables.legacy_coordination, self.wall_clock, self.wanted)
        self._taker = LeaseTaker(
            name,
            table,
            Sightings(settings.lease_duration_s),
            self.clock,
            self.rng,
            TakingLimits(settings.max_leases),
            self.worker.streams.knows,
            self.worker.namesakes,
        )
        self._unassigned = Unassigned(settings.max_leases, settings.lease_duration_s)
        heartbeat_s = settings.lease_duration_s / HEARTBEATS
        self._periodic = [
            self._each("mode", self._look_at_mode),
            self._each("report", self._report),
            # Others have the lock once it has not been renewed for a while.
            self._each("leader's lock", self._lock, longest_retry_s=heartbeat_s),
            self._each("assignment", self._lead),
            self._each("discovery", self._discover),
            self._each("taking", self._take),
            self._each("creation", self._keep_without_leader),
            self._each("deletion", self._clean_up, due_s=self.clock.now_s() + CLEANUP_S),
        ]

    def _each(self, name: str, run: Callable[[], float], **more: float) -> Periodic:
        return Periodic(name, run, self.clock, self.rng, **more)

    def step(self) -> float:
        """
        Do what is due. Returns in how many seconds something is due again.

        Raises:
            ServiceError: A store or stream refuses a call for good.
        """
        for each in self._periodic:
            each.step()
        return max(0.0, min(each.due_s for each in self._periodic) - self.clock.now_s())

    def retire(self, *, only_idle: bool = True) -> None:
        """
        Get no further leases, and let all go, so that other workers have them at once. Idempotent.

        With *only_idle*, the leases of batches in hand stay. When a store fails, other workers have the leases once they expire.
        """
        retire(self.worker, self.tables, self._roles, self.wall_clock, only_idle=only_idle)

    def close(self) -> None:
        """Let all leases go, and close the tables."""
        with ExitStack() as stack:
            for table in self.tables.all():
                stack.callback(table.close)
            self.retire(only_idle=False)

    @property
    def _is_taking(self) -> bool:
        return self._now is not None and self._now.mode is Mode.TAKING

    @property
    def _is_assigned(self) -> bool:
        return self._now is not None and self._now.mode is Mode.ASSIGNED

    def _look_at_mode(self) -> float:
        now = self._reader.read()
        has_found = self._now is not None and self._find_tables(now)
        if has_found:
            now = self._reader.read()
        if has_found or now != self._now:
            log.info("coordination.changed", mode=now.mode.value, layout=now.layout.value)
            if self._roles.leader is not None:
                self._roles.leader.lock.release()
            self._now = now
            self._roles = roles_of(now, self.worker, self.tables, self.wall_clock, self.rng, self._keep)
        return MODE_S

    def _find_tables(self, now: Coordination) -> bool:
        """
        Look for tables in which an application coordinates after an upgrade. Returns whether there are new ones.

        A KCL makes them one after the other: one alone is not used yet.
        """
        if self.tables.legacy_reports is not None or self.tables.look_again is None:
            return False
        if not self._reader.is_undecided and now.layout is Layout.ONE_TABLE:
            return False
        found = self.tables.look_again()
        if found.legacy_coordination is None or found.legacy_reports is None:
            return False
        self.tables, self._reader.legacy_table = found, found.legacy_coordination
        return True

    def _report(self) -> float:
        if self._roles.reports is None:
            return REPORT_S
        self._roles.reports.write()
        return self._roles.reports.period_s

    def _lock(self) -> float:
        leader = self._roles.leader
        if leader is None:
            return DISCOVERY_S
        was_held = leader.lock.is_held()
        if not leader.lock.step():
            return min(leader.lock.heartbeat_s, CANDIDACY_S)
        if not was_held:
            log.info("leader.elected", worker=self.worker.name)
            self.keeper.begin()
        return leader.lock.heartbeat_s

    def _lead(self) -> float:
        leader = self._roles.leader
        if leader is not None and leader.lock.is_held():
            run = leader.run()
            if run is not None:
                self._note(run.leases, run.malformed)
                self._unassigned.note(run.unassigned, self.clock.now_s())
        elif leader is not None and leader.lock.suspects_leader():
            leader.watch()
        return scan_pause_s(self._leases, LEADING_S, self.worker.settings.lease_duration_s)

    def _keep(self, leases: Sequence[Lease]) -> bool:
        verify_naming(leases, named=None not in self.keeper.streams)
        findings = self.keeper.run(leases)
        for stream_id, error in findings.failed.items():
            if not error.retryable:
                raise error
            self._warn_of_listing(stream_id, error.code, str(error))
        for stream_id, stale in findings.refused.items():
            self._warn_of_listing(stream_id, "StaleListing", stale.reason)
        for lease in findings.unread:
            log.warning("shard.unread", lease=lease.key, checkpoint=str(lease.checkpoint))
        for lease in findings.created:
            log.info("lease.created", lease=lease.key, checkpoint=str(lease.checkpoint))
        return bool(findings.created)

    def _warn_of_listing(self, stream_id: str | None, code: str, reason: str) -> None:
        failures = self._listings.setdefault(stream_id, Outage()).failed(self.clock.now_s())
        if failures is not None:
            log.warning("coordination.failed", task="creation", code=code, reason=reason, failures=failures)

    def _discover(self) -> float:
        if self._is_assigned:
            self.worker.discover()
        return DISCOVERY_S

    def _take(self) -> float:
        if not self._is_taking:
            return DISCOVERY_S
        for taken in self._taker.run(self.worker.shards.held()):
            self.worker.gain(taken.lease, taken.sent_s)
        self._unassigned.note(self._taker.unassigned, self.clock.now_s())
        pause_s = scan_pause_s(self._leases, TAKING_S, self.worker.settings.lease_duration_s)
        return pause_s * self.rng.uniform(0.8, 1.2)

    def _keep_without_leader(self) -> float:
        """
        Create missing leases in a group without a leader.

        All workers do it while there is none at all, later only the one that the workers of a KCL also choose.
        """
        if not self._is_taking:
            return DISCOVERY_S
        leases, malformed = read_leases(self.tables.leases.scan())
        self._note(leases, malformed)
        verify_naming(leases, named=None not in self.keeper.streams)
        if not malformed and (not leases or elect_auditor(leases) == self.worker.name):
            self._keep(leases)
        return KEEPING_S if leases else DISCOVERY_S

    def _note(self, leases: Collection[Lease], malformed: Iterable[str]) -> None:
        """Remember what a scan has shown, and warn once of what this worker does not read: other streams, and malformed items."""
        self._leases = len(leases)
        self.worker.streams.warn(leases)
        for key in set(malformed) - self._malformed:
            self._malformed.add(key)
            log.warning("lease.malformed", lease=key)

    def _clean_up(self) -> float:
        """Delete the leases of finished shards that nobody needs."""
        if self.worker.shards.finished():
            leases, _ = read_leases(self.tables.leases.scan())
            for lease in needless_leases(leases, self.worker.name, self.keeper.listings):
                if delete_finished(self.tables.leases, lease, self.worker.name):
                    self.worker.shards.remove_finished(lease.key)
                    log.info("lease.deleted", lease=lease.key)
        return CLEANUP_S
