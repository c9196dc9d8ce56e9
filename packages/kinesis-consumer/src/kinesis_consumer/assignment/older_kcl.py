"""
Whether workers of an older KCL run in the table. A group does not share leases with them.

In a group one leader assigns the leases, and each worker reports to the table that it is alive. A KCL works like this since 3.5, once its
migrations are complete. Workers of KCL 1.x and 2.x take leases for themselves, and report nothing. Those of KCL 3.0 to 3.4 follow their
own leader, and report to another table. So a worker is an older one if it renews a lease and has no report in this table.

Source: MigrationState and TableMigrationState of the KCL 3.5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field

from kinesis_consumer.assignment.metrics import read_report
from kinesis_consumer.assignment.namesakes import MOVES, is_marked
from kinesis_consumer.errors import GroupStateError
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.leases import ENTITY_TYPE, LEASE_KEY, Item, read_leases, show_names

MIGRATION = "Migration3.0"
_ENTITY = "CLIENT_VERSION_MIGRATION"
_VERSION = "cv"
_VERSION_3X = "CLIENT_VERSION_3X"
_EARLIER_VERSIONS = (
    "CLIENT_VERSION_INIT",
    "CLIENT_VERSION_2X",
    "CLIENT_VERSION_UPGRADE_FROM_2X",
    "CLIENT_VERSION_3X_WITH_ROLLBACK",
)
_TABLE_MIGRATION = "TableMigration3.5"
_STATUS = "tm"
_COMPLETE = "TABLE_MIGRATION_STATUS_COMPLETE"
_EARLIER_STATUSES = tuple(f"TABLE_MIGRATION_STATUS_{name}" for name in ("INIT", "DEPLOYED", "PENDING"))


@define
class OlderWorkers:
    """Finds workers of an older KCL by two or more scans of the table. Not thread-safe."""

    table: str
    """The table's name."""
    worker: str
    """Who looks. It is no older worker itself."""
    _seen: dict[str, tuple[str, int]] = field(factory=dict, init=False)
    """The owner of each lease whose worker may be an older one, and the counter with which it was first seen."""

    def look(self, items: Sequence[Item]) -> bool:
        """
        Look at *items*, which are all of the table. Returns whether another look may find an older worker.

        Raises:
            GroupStateError: One has renewed its lease, or the table is of a newer KCL.
        """
        present, last = _may_be_older(items, self.worker), self._seen
        self._seen = {
            key: last[key] if key in last and last[key][0] == owner else (owner, counter)
            for key, (owner, counter) in present.items()
        }
        renewed = {
            owner for key, (owner, counter) in present.items() if counter - self._seen[key][1] >= MOVES
        }
        if renewed:
            raise self._error(renewed, _states(items))
        return bool(present)

    def verify(self, table: ItemTable) -> None:
        """
        Verify that the table does not say that workers take leases for themselves.

        Raises:
            GroupStateError: It does. A tool of the KCL may have rolled its migration back.
            ServiceError: The table failed.
        """
        item = table.get(MIGRATION)
        states = _states([] if item is None else [item])
        if states:
            raise self._error(set(), states)

    def _error(self, workers: set[str], states: Mapping[str, str]) -> GroupStateError:
        seen = [f"{show_names(sorted(workers))}, renewing leases"] if workers else []
        seen += [f"{name} says {value}" for name, value in states.items()]
        return GroupStateError(
            f"Table {self.table} is shared with workers of a KCL 1.x or 2.x, or of a KCL 3.x that has not completed its migrations. They do "
            "not let a leader of this group assign leases. Stop them, or first upgrade them to KCL 3.5 or later. The upgrade is "
            f"complete when {MIGRATION} says {_VERSION_3X}, and {_TABLE_MIGRATION}, if that item exists, {_COMPLETE}.",
            table=self.table,
            seen="; ".join(seen),
        )


def _may_be_older(items: Sequence[Item], worker: str) -> dict[str, tuple[str, int]]:
    """
    Return the owner and the counter of each lease whose worker may be an older one, by key. *worker* is none.

    A report proves nothing before the migrations are complete: KCL 3.x workers in such a table report, and take leases for
    themselves or follow another leader. A worker of this package marks its leases.
    """
    known = {None, "", worker}
    if not _states(items):
        known |= {report.worker for item in items if (report := read_report(item))}
    return {
        lease.key: (str(lease.actual_owner), lease.counter)
        for lease in read_leases(items)[0]
        if lease.actual_owner not in known and not is_marked(lease)
    }


def _states(items: Sequence[Item]) -> dict[str, str]:
    """
    Return what the table says of migrations that are not complete, by item. A table of a KCL 1.x or 2.x says nothing.

    Raises:
        GroupStateError: It says what this version does not know.
    """
    by_key = {item.get(LEASE_KEY): item for item in items}
    found: dict[str, str] = {}
    for key, name, final, earlier in (
        (MIGRATION, _VERSION, _VERSION_3X, _EARLIER_VERSIONS),
        (_TABLE_MIGRATION, _STATUS, _COMPLETE, _EARLIER_STATUSES),
    ):
        value = _known(by_key[key], name, (final, *earlier)) if key in by_key else final
        if value != final:
            found[key] = value
    return found


def _known(item: Item, name: str, known: Sequence[str]) -> str:
    value = item.get(name)
    if not isinstance(value, str) or value not in known:
        raise GroupStateError(
            f"Attribute {name!r} of item {item.get(LEASE_KEY)!r} says how the group coordinates. It is {value!r}, which this version does not "
            f"know. Use a newer version of kinesis-consumer.",
            known=", ".join(known),
        )
    return value


def write_version(table: ItemTable, worker: str, now_ms: int) -> None:
    """
    Write that a leader assigns the leases, as a KCL 3.x does, unless the table says so. No older worker runs.

    Raises:
        ServiceError: The table failed, or lacks the index, without which no leader can assign leases.
    """
    item = table.get(MIGRATION)
    if item is not None and item.get(_VERSION) == _VERSION_3X:
        return
    table.keys_of_owner(worker)
    change: Item = {_VERSION: _VERSION_3X, "mb": worker, "mts": now_ms}
    if item is None:
        table.create(MIGRATION, {ENTITY_TYPE: _ENTITY, **change, "h": []})
    else:
        table.update(Update(MIGRATION, expect={_VERSION: item.get(_VERSION)}, set=change))
