"""What a worker does for the coordination of its group, besides reading its own shards."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from attrs import frozen

from kinesis_consumer.assignment import REPORT_S, Coordination, Leader, LeaderLock, MetricsWriter, Mode
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.tables import GroupTables
from kinesis_core.clock import Clock
from kinesis_core.leases import Lease


@frozen
class Roles:
    """The parts of one worker while its group coordinates in one way."""

    leader: Leader | None = None
    """The leader's part, if a leader assigns leases. Its lock says whether this worker is the leader."""
    reports: MetricsWriter | None = None
    """Reports that this worker is alive, if the group wants to know."""


def roles_of(
    now: Coordination,
    worker: LeaseHolder,
    tables: GroupTables,
    wall_clock: Clock,
    rng: random.Random,
    keep: Callable[[Sequence[Lease]], bool],
) -> Roles:
    """Return the parts of *worker*. As the leader it calls *keep* to create missing leases."""
    legacy_reports = tables.legacy_reports
    reports_table = tables.leases
    if legacy_reports is not None and not now.layout.writes_reports_to_lease_table:
        reports_table = legacy_reports
    period_s = min(REPORT_S, worker.settings.lease_duration_s)
    streams = [stream_id for stream_id in worker.sources if stream_id is not None]
    reports = MetricsWriter(worker.name, reports_table, wall_clock, period_s, streams)
    if now.mode is not Mode.ASSIGNED:
        return Roles(None, reports if now.writes_reports else None)
    lock_table = tables.leases
    if tables.legacy_coordination is not None and not now.layout.has_lock_in_lease_table:
        lock_table = tables.legacy_coordination
    settings, clock = worker.settings, worker.clock
    leader = Leader(
        worker.name,
        tables.leases,
        [legacy_reports] if legacy_reports is not None and now.layout.reads_legacy_reports else [],
        LeaderLock(worker.name, lock_table, clock, rng, settings.lease_duration_s),
        clock,
        wall_clock,
        settings.lease_duration_s,
        keep,
        settings.hand_over_timeout_s,
        settings.max_leases,
        worker.streams.knows,
    )
    return Roles(leader, reports)
