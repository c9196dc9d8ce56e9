"""In which of a group's tables a worker coordinates: an application of the KCL 3.0 to 3.4 has two more."""

from __future__ import annotations

import pytest

from kinesis_consumer import ConsumerGroup
from kinesis_consumer.leases import new_item
from kinesis_consumer.stores import MemoryTable
from kinesis_consumer.worker import GroupTables
from kinesis_core.leases import OLDEST, Item, Lease
from support.consumer_groups import new_group, new_stream
from support.fake_stream import FakeClock

LEASE = Lease("shardId-000000000000", OLDEST, hash_range=(0, 2**128 - 1))


def version(name: str) -> Item:
    return {"entityType": "CLIENT_VERSION_MIGRATION", "cv": f"CLIENT_VERSION_{name}"}


class Legacy:
    """The three tables of an application."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.leases = MemoryTable("billing")
        self.coordination = MemoryTable("billing-CoordinatorState", "key")
        self.reports = MemoryTable("billing-WorkerMetricStats", "wid")
        self.leases.create(LEASE.key, new_item(LEASE))
        self.there: list[MemoryTable] = []
        """Those of the two that exist."""
        self.looks_s: list[float] = []

    def tables(self) -> GroupTables:
        coordination, reports = (
            table if table in self.there else None for table in (self.coordination, self.reports)
        )
        return GroupTables(self.leases, coordination, reports, self.look_again)

    def look_again(self) -> GroupTables:
        self.looks_s.append(self.clock.now)
        return self.tables()

    def group(self) -> ConsumerGroup:
        return new_group(new_stream(), tables=self.tables(), clock=self.clock)

    def run(self, group: ConsumerGroup, seconds: float) -> None:
        for _ in range(round(seconds)):
            group._threads.coordinator.step()
            group._threads.worker.leases.renew()
            self.clock.sleep(1)


def keys(table: MemoryTable, key_name: str = "leaseKey") -> set[str]:
    return {str(item[key_name]) for item in table.scan()}


@pytest.mark.parametrize(
    ("status", "has_lock", "has_report"),
    [("INIT", False, False), ("DEPLOYED", False, False), ("PENDING", False, True), ("COMPLETE", True, True)],
)
def test_where_a_worker_writes(status: str, *, has_lock: bool, has_report: bool) -> None:
    """While a migration of tables is pending, reports are written to the table of leases, and the lock is in the legacy one."""
    legacy = Legacy()
    legacy.there = [legacy.coordination, legacy.reports]
    legacy.coordination.create("TableMigration3.5", {"tm": f"TABLE_MIGRATION_STATUS_{status}"})
    for table in (legacy.coordination, legacy.leases):
        table.create("Migration3.0", version("3X"))
    group = legacy.group()
    legacy.run(group, 5)
    assert ("Leader" in keys(legacy.leases), "Leader" in keys(legacy.coordination, "key")) == (
        has_lock,
        not has_lock,
    )
    assert ("worker-1" in keys(legacy.leases), "worker-1" in keys(legacy.reports, "wid")) == (
        has_report,
        not has_report,
    )


@pytest.mark.parametrize("status", ["INIT", "PENDING"])
def test_a_leader_reads_reports_of_both_tables(status: str) -> None:
    """Until the migration is complete, a worker that reports in either table is given leases."""
    legacy = Legacy()
    legacy.there = [legacy.coordination, legacy.reports]
    legacy.coordination.create("TableMigration3.5", {"tm": f"TABLE_MIGRATION_STATUS_{status}"})
    legacy.coordination.create("Migration3.0", version("3X"))
    for shard in range(1, 3):
        lease = Lease(f"shardId-{shard:012}", OLDEST, hash_range=(0, 1))
        legacy.leases.create(lease.key, new_item(lease))
    group = legacy.group()
    now = int(group._threads.coordinator.wall_clock.now_s())
    legacy.reports.create("older", {"lut": now, "sts": {}, "opr": {}})
    legacy.leases.create("newer", {"lut": now, "sts": {}, "opr": {}, "entityType": "WORKER_METRIC_STATS"})
    legacy.run(group, 2)
    owners = {str(item.get("leaseOwner")) for item in legacy.leases.scan() if "checkpoint" in item}
    assert owners == {"worker-1", "older", "newer"}


def test_an_application_is_upgraded_while_a_worker_runs() -> None:
    """Tables of KCL 3.0 to 3.4 that appear later are found within a minute, once both are there. Looks are rare."""
    legacy = Legacy()
    group = legacy.group()
    legacy.run(group, 200)
    assert 1 <= len(legacy.looks_s) <= 3
    assert group._threads.worker.leases.shards.held() == {LEASE.key}
    legacy.there = [legacy.coordination]
    legacy.coordination.create("Migration3.0", version("3X"))
    legacy.run(group, 65)
    assert not legacy.coordination.get("Leader")
    legacy.there = [legacy.coordination, legacy.reports]
    legacy.run(group, 65)
    assert legacy.coordination.get("Leader")
    assert keys(legacy.reports, "wid") == {"worker-1"}
    looks = len(legacy.looks_s)
    legacy.run(group, 200)
    assert len(legacy.looks_s) == looks
    group._threads.coordinator.close()
    assert keys(legacy.reports, "wid") == set()


def test_a_group_that_says_how_it_coordinates_has_no_other_tables() -> None:
    """Its table is not looked beside."""
    legacy = Legacy()
    legacy.leases.create("Migration3.0", version("2X"))
    legacy.run(legacy.group(), 200)
    assert not legacy.looks_s
