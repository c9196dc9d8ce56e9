"""
How a group shares its leases, and in which tables its workers coordinate. The tables say it.

Source: MigrationState, TableMigrationState and CoordinatorStateDAO of the KCL 3.5
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from attrs import define, field, frozen

from kinesis_consumer.assignment.items import read_leases
from kinesis_consumer.errors import GroupStateError
from kinesis_consumer.stores import ItemTable
from kinesis_core.clock import Clock
from kinesis_core.leases import ENTITY_TYPE, Item

MIGRATION = "Migration3.0"
TABLE_MIGRATION = "TableMigration3.5"
_ENTITY = "CLIENT_VERSION_MIGRATION"
_VERSION = "cv"
_STATUS = "tm"
VERSION_3X = "CLIENT_VERSION_3X"
T = TypeVar("T")


class Mode(Enum):
    """How leases find their workers."""

    TAKING = "taking"
    """Each worker takes leases for itself, as in the KCL 2.x."""
    ASSIGNED = "assigned"
    """A leader assigns them, as in the KCL 3.x."""


class Layout(Enum):
    """Where the workers of a KCL 3.x application coordinate."""

    ONE_TABLE = "one table"
    """In the table of leases. So does every new application since 3.5."""
    LEGACY = "legacy"
    """The lock and the reports of workers have a table each, as in 3.0 to 3.4."""
    MOVING = "moving"
    """Reports are written to the table of leases, and read from both. The lock is where it was."""

    @property
    def has_lock_in_lease_table(self) -> bool:
        return self is Layout.ONE_TABLE

    @property
    def writes_reports_to_lease_table(self) -> bool:
        return self is not Layout.LEGACY

    @property
    def reads_legacy_reports(self) -> bool:
        return self is not Layout.ONE_TABLE


@frozen
class Coordination:
    """How the workers of a group coordinate now."""

    mode: Mode
    layout: Layout
    writes_reports: bool
    """Whether workers report that they are alive: always if a leader assigns leases, and before a group changes to that."""


_OF_VERSION = {
    "CLIENT_VERSION_INIT": (Mode.TAKING, False),
    "CLIENT_VERSION_2X": (Mode.TAKING, False),
    "CLIENT_VERSION_UPGRADE_FROM_2X": (Mode.TAKING, True),
    "CLIENT_VERSION_3X_WITH_ROLLBACK": (Mode.ASSIGNED, True),
    VERSION_3X: (Mode.ASSIGNED, True),
}
_OF_STATUS = {
    "TABLE_MIGRATION_STATUS_INIT": Layout.LEGACY,
    "TABLE_MIGRATION_STATUS_DEPLOYED": Layout.LEGACY,
    "TABLE_MIGRATION_STATUS_PENDING": Layout.MOVING,
    "TABLE_MIGRATION_STATUS_COMPLETE": Layout.ONE_TABLE,
}


@define
class ModeReader:
    """Reads how the group coordinates, and decides it for a new group. Call `read` each minute. Not thread-safe."""

    worker: str
    table: ItemTable
    """The table of leases."""
    legacy_table: ItemTable | None
    """The table `<application>-CoordinatorState`, if it exists."""
    wall_clock: Clock
    wanted: Mode | None = None
    """What the user has set. It counts for a group that has not decided: what the table says comes first, as in the KCL."""
    is_undecided: bool = field(default=True, init=False)
    """Whether no item said how the group coordinates."""
    _last: Mode | None = field(default=None, init=False)

    def read(self) -> Coordination:
        """
        Return how the group coordinates now.

        In a table without leases, and where the user wants it, it writes that a leader assigns leases. A KCL 3.x does the same.

        Raises:
            GroupStateError: The group is in a state that this version does not know.
            ServiceError: The table failed.
        """
        layout = self._read_layout()
        item = self._find(MIGRATION, layout)
        if item is None and self._decide() is Mode.ASSIGNED:
            self._write_3x(layout)
            item = self._find(MIGRATION, layout)  # another worker may have written something else
        self.is_undecided = item is None
        mode, writes_reports = _known(item, _VERSION, _OF_VERSION) if item else (Mode.TAKING, False)
        self._last = mode
        return Coordination(mode, layout, writes_reports)

    def _read_layout(self) -> Layout:
        if self.legacy_table is None:
            return Layout.ONE_TABLE
        item = self._find(TABLE_MIGRATION, Layout.LEGACY)
        return _known(item, _STATUS, _OF_STATUS) if item else Layout.LEGACY

    def _find(self, key: str, layout: Layout) -> Item | None:
        """Return an item that may have moved. The legacy table comes first until the move is complete, as in the KCL."""
        if self.legacy_table is not None and layout is not Layout.ONE_TABLE:
            item = self.legacy_table.get(key)
            if item is not None:
                return item
        return self.table.get(key)

    def _decide(self) -> Mode:
        """Return the mode of a group whose table does not say it."""
        if self.wanted is not None:
            return self.wanted
        if self._last is Mode.TAKING:
            return Mode.TAKING  # the table had leases, so it is not scanned each minute
        leases, malformed = read_leases(self.table.scan())
        return Mode.TAKING if leases or malformed else Mode.ASSIGNED

    def _write_3x(self, layout: Layout) -> None:
        self.table.keys_of_owner(
            self.worker
        )  # fails where the index is missing: then no leader could assign leases
        table = self.legacy_table if self.legacy_table is not None and layout is Layout.LEGACY else self.table
        table.create(
            MIGRATION,
            {
                ENTITY_TYPE: _ENTITY,
                _VERSION: VERSION_3X,
                "mb": self.worker,
                "mts": int(self.wall_clock.now_s() * 1000),
                "h": [],
            },
        )


def _known(item: Item, name: str, meanings: Mapping[str, T]) -> T:
    value = item.get(name)
    if not isinstance(value, str) or value not in meanings:
        raise GroupStateError(
            f"Attribute {name!r} of the item that says how the group coordinates is {value!r}, which this version does not know. "
            f"Use a newer version of kinesis-consumer. [known={', '.join(meanings)}]"
        )
    return meanings[value]
