"""How a group shares its leases, as its tables say."""

from __future__ import annotations

import pytest

from kinesis_consumer import GroupStateError
from kinesis_consumer.assignment import Coordination, Layout, Mode, ModeReader
from kinesis_consumer.stores import MemoryTable
from kinesis_core import InvalidRequestError
from support.fake_stream import FakeClock
from support.shared_leases import SharedTime, UnreliableTable, make_lease, put_leases

TAKING = Coordination(Mode.TAKING, Layout.ONE_TABLE, writes_reports=False)
ASSIGNED = Coordination(Mode.ASSIGNED, Layout.ONE_TABLE, writes_reports=True)


class Tables:
    """A table of leases, and perhaps the table of older versions."""

    def __init__(self, *, legacy: bool = False) -> None:
        self.leases = MemoryTable()
        self.table = UnreliableTable(self.leases, SharedTime())
        self.legacy = MemoryTable(key_name="key") if legacy else None

    def reader(self, wanted: Mode | None = None) -> ModeReader:
        return ModeReader("w1", self.table, self.legacy, FakeClock(), wanted)

    def read(self, wanted: Mode | None = None) -> Coordination:
        return self.reader(wanted).read()

    def put(self, version: str) -> None:
        self.leases.delete("Migration3.0", {})
        self.leases.create("Migration3.0", {"cv": version})

    def put_status(self, status: str) -> None:
        assert self.legacy is not None
        self.legacy.create("TableMigration3.5", {"tm": f"TABLE_MIGRATION_STATUS_{status}"})


def test_a_new_group_is_assigned_by_a_leader() -> None:
    """It is written as a KCL 3.5 writes it, with the time in milliseconds."""
    tables = Tables()
    assert tables.read() == ASSIGNED
    assert tables.leases.scan() == [
        {
            "leaseKey": "Migration3.0",
            "entityType": "CLIENT_VERSION_MIGRATION",
            "cv": "CLIENT_VERSION_3X",
            "mb": "w1",
            "mts": 1_790_000_000_000,
            "h": [],
        }
    ]


class TableWithoutIndex(MemoryTable):
    """A table that a KCL 2.x has made."""

    def keys_of_owner(self, owner: str) -> list[str]:
        raise InvalidRequestError(f"Table billing lacks the index, as {owner} has found.")


def test_a_table_without_the_index_is_not_changed() -> None:
    """No leader could assign leases in it. Its workers go on as they do, and the worker that wants a leader gets the error."""
    table = TableWithoutIndex("billing")
    put_leases(table, [make_lease(0)])
    with pytest.raises(InvalidRequestError, match="lacks the index"):
        ModeReader("w1", table, None, FakeClock(), Mode.ASSIGNED).read()
    assert table.get("Migration3.0") is None
    assert ModeReader("w2", table, None, FakeClock()).read() == TAKING


def test_leases_without_a_version_are_those_of_a_kcl_2() -> None:
    """Its workers take leases for themselves. Nothing is written."""
    tables = Tables()
    put_leases(tables.leases, [make_lease(0)])
    assert tables.read() == TAKING
    assert tables.leases.get("Migration3.0") is None


def test_a_malformed_lease_is_a_lease() -> None:
    """A table that cannot be read is not a new one."""
    tables = Tables()
    tables.leases.create("shardId-0", {"checkpoint": 7})
    assert tables.read() == TAKING


@pytest.mark.parametrize(
    ("version", "mode", "writes_reports"),
    [
        ("CLIENT_VERSION_INIT", Mode.TAKING, False),
        ("CLIENT_VERSION_2X", Mode.TAKING, False),
        ("CLIENT_VERSION_UPGRADE_FROM_2X", Mode.TAKING, True),
        ("CLIENT_VERSION_3X_WITH_ROLLBACK", Mode.ASSIGNED, True),
        ("CLIENT_VERSION_3X", Mode.ASSIGNED, True),
    ],
)
@pytest.mark.parametrize("wanted", [None, Mode.TAKING, Mode.ASSIGNED])
def test_the_item_counts(version: str, mode: Mode, writes_reports: bool, wanted: Mode | None) -> None:
    """What the group has decided counts for each worker, whatever its own settings say."""
    tables = Tables()
    tables.put(version)
    assert tables.read(wanted) == Coordination(mode, Layout.ONE_TABLE, writes_reports)


def test_a_group_without_a_version_follows_the_user() -> None:
    """A KCL 3 with default settings upgrades a 2.x table in the same way. A group that takes writes nothing."""
    tables = Tables()
    put_leases(tables.leases, [make_lease(0)])
    assert tables.read(Mode.ASSIGNED) == ASSIGNED
    fresh = Tables()
    assert fresh.read(Mode.TAKING) == TAKING
    assert fresh.leases.scan() == []


def test_a_version_that_changes_is_noticed() -> None:
    """A group is upgraded or rolled back while its workers run."""
    tables = Tables()
    tables.put("CLIENT_VERSION_UPGRADE_FROM_2X")
    reader = tables.reader()
    assert reader.read().mode is Mode.TAKING
    tables.put("CLIENT_VERSION_3X_WITH_ROLLBACK")
    assert reader.read().mode is Mode.ASSIGNED
    tables.put("CLIENT_VERSION_2X")
    assert reader.read().mode is Mode.TAKING


def test_another_worker_may_decide_first() -> None:
    """The item is written on condition that there is none, and then read."""
    tables = Tables()
    tables.table.fates = ["", "", lambda: tables.put("CLIENT_VERSION_UPGRADE_FROM_2X")]
    assert tables.read().mode is Mode.TAKING


def test_the_table_is_scanned_once() -> None:
    """A group of a KCL 2 stays one until somebody writes a version."""
    tables = Tables()
    put_leases(tables.leases, [make_lease(0)])
    reader = tables.reader()
    reader.read()
    reader.read()
    assert tables.table.calls == ["get", "scan", "get"]


def test_an_unknown_version_is_an_error() -> None:
    """A worker that guesses would take leases that a leader assigns."""
    tables = Tables()
    tables.put("CLIENT_VERSION_4X")
    with pytest.raises(GroupStateError, match="CLIENT_VERSION_4X"):
        tables.read()


@pytest.mark.parametrize(
    ("status", "layout"),
    [
        (None, Layout.LEGACY),
        ("INIT", Layout.LEGACY),
        ("DEPLOYED", Layout.LEGACY),
        ("PENDING", Layout.MOVING),
        ("COMPLETE", Layout.ONE_TABLE),
    ],
)
def test_the_layout_follows_the_move_to_one_table(status: str | None, layout: Layout) -> None:
    """Groups of 3.0 to 3.4 have further tables until their move is complete."""
    tables = Tables(legacy=True)
    tables.put("CLIENT_VERSION_3X")
    if status:
        tables.put_status(status)
    assert tables.read().layout is layout


def test_the_status_of_the_move_may_have_moved() -> None:
    """It is in the table of leases in the end."""
    tables = Tables(legacy=True)
    tables.put("CLIENT_VERSION_3X")
    tables.leases.create("TableMigration3.5", {"tm": "TABLE_MIGRATION_STATUS_COMPLETE"})
    assert tables.read() == ASSIGNED


def test_an_unknown_status_of_the_move_is_an_error() -> None:
    """A worker that guesses would be a second leader in another table."""
    tables = Tables(legacy=True)
    tables.put_status("SOON")
    with pytest.raises(GroupStateError, match="SOON"):
        tables.read()


def test_the_older_table_comes_first_until_the_move_is_complete() -> None:
    """As in the KCL. Once it is complete, what is left there does not count."""
    tables = Tables(legacy=True)
    assert tables.legacy is not None
    tables.legacy.create("Migration3.0", {"cv": "CLIENT_VERSION_2X"})
    tables.put("CLIENT_VERSION_3X")
    assert tables.read().mode is Mode.TAKING
    tables.put_status("COMPLETE")
    assert tables.read().mode is Mode.ASSIGNED


@pytest.mark.parametrize(("status", "is_legacy"), [(None, True), ("PENDING", False)])
def test_a_version_is_written_where_the_kcl_writes_it(status: str | None, is_legacy: bool) -> None:
    """That is the older table, until items begin to move."""
    tables = Tables(legacy=True)
    assert tables.legacy is not None
    if status:
        tables.put_status(status)
    assert tables.read().mode is Mode.ASSIGNED
    assert (tables.legacy.get("Migration3.0") is not None) is is_legacy
    assert (tables.leases.get("Migration3.0") is None) is is_legacy


@pytest.mark.parametrize(
    ("layout", "lock", "writes", "reads"),
    [
        (Layout.ONE_TABLE, True, True, False),
        (Layout.LEGACY, False, False, True),
        (Layout.MOVING, False, True, True),
    ],
)
def test_a_layout_says_which_table_has_what(layout: Layout, lock: bool, writes: bool, reads: bool) -> None:
    """While items move, the lock stays where it was, so that there is one leader."""
    assert layout.has_lock_in_lease_table is lock
    assert layout.writes_reports_to_lease_table is writes
    assert layout.reads_legacy_reports is reads
