"""Where a group keeps its leases, as its user says it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from attrs import evolve, field, frozen

from kinesis_consumer.arguments import refused, verify_endpoint, verify_table_name
from kinesis_consumer.assignment import MIGRATION, TABLE_MIGRATION
from kinesis_consumer.patience import OPENING, patiently
from kinesis_consumer.stores import DynamoTable, ItemTable, MemoryTable, SqliteTable
from kinesis_consumer.worker import GroupTables
from kinesis_core import TableNotFoundError
from kinesis_core.aws import Connection
from kinesis_core.clock import SteadyClock

T = TypeVar("T")


class LeaseStore(Protocol):
    """A place for the leases of groups."""

    def open(self, application: str, connection: Connection) -> GroupTables:
        """
        Return the tables of *application*, ready to be used. *connection* is how the group reaches its streams.

        Raises:
            OptionError: There is something else of that name.
            GroupStateError: Another version of this package has made it.
            ServiceError: The store cannot be reached, or access is denied.
        """
        ...


@frozen
class MemoryLeases:
    """Leases in memory: for tests, and for programs with one process. They are gone when it ends."""

    _tables: dict[str, MemoryTable] = field(factory=dict, init=False, repr=False)

    def open(self, application: str, connection: Connection) -> GroupTables:  # noqa: ARG002 - it needs none
        return GroupTables(self._tables.setdefault(application, MemoryTable(application)))


@frozen
class SqliteLeases:
    """
    Leases in a file: for several processes on one machine. Not for a network drive.

    The file is created if it is missing. Several applications can share it.
    """

    path: str | Path

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise refused("path", "the path of a file", self.path)

    def open(self, application: str, connection: Connection) -> GroupTables:  # noqa: ARG002 - it needs none
        table = SqliteTable(self.path, application)
        _patiently("prepare", table.prepare)
        return GroupTables(table)


@frozen
class DynamoLeases:
    """
    Leases in DynamoDB, in the layout of Java's KCL: for processes on several machines, and beside the KCL.

    The table is in the region of the first stream. A missing one is created, billed by request, with the index of the KCL. A KCL of
    3.0 to 3.4 has two more tables, named after the application. They are used if they exist; a group that takes leases, as the KCL 2.x,
    looks for them each minute.
    """

    table: str | None = None
    """Its name, if that is not the application's."""
    endpoint_url: str | None = None
    """The endpoint of DynamoDB, if that is not AWS's."""
    add_index: bool = False
    """
    Whether a table without the index gets it: one that a KCL 1.x or 2.x has made. A group whose leader assigns leases needs it; the
    KCL 3.x adds it, too. DynamoDB takes minutes, and the workers of the application may go on meanwhile.
    """

    def __attrs_post_init__(self) -> None:
        if self.table is not None:
            verify_table_name("table", self.table)
        verify_endpoint(self.endpoint_url)
        if not isinstance(self.add_index, bool):
            raise refused("add_index", "True or False", self.add_index)

    def open(self, application: str, connection: Connection) -> GroupTables:
        table = DynamoTable.open(
            evolve(connection, retry=OPENING),
            self.table or application,
            self.endpoint_url,
            with_index=self.add_index,
        )
        table.prepare()
        if _patiently("GetItem", lambda: _may_have_legacy_tables(table)):
            return _patiently("GetItem", lambda: _find_legacy_tables(table, application))
        return GroupTables(table, look_again=lambda: _find_legacy_tables(table, application))


def parse_store(leases: LeaseStore | str | Path | None) -> LeaseStore:
    """
    Return where a group keeps its leases. A path is that of a file of SQLite, and nothing is DynamoDB.

    Raises:
        OptionError: It is something else.
    """
    if leases is None:
        return DynamoLeases()
    if isinstance(leases, str | os.PathLike):
        return SqliteLeases(leases)
    if isinstance(leases, type) or not callable(getattr(leases, "open", None)):
        domain = "DynamoLeases(), SqliteLeases('leases.db'), MemoryLeases(), or the path of a file of SQLite"
        raise refused("leases", domain, leases)
    return leases


def _patiently(name: str, call: Callable[[], T]) -> T:
    return patiently(name, call, SteadyClock(), random.Random())  # noqa: S311 # jitter, not a secret


def _may_have_legacy_tables(table: ItemTable) -> bool:
    """Return whether the group may coordinate in other tables: it has leases, and its table does not say how it coordinates."""
    if table.get(MIGRATION) is None:
        return bool(table.scan())
    moving = table.get(TABLE_MIGRATION)  # the lock stays in its table until the move is complete
    return moving is not None and moving.get("tm") != "TABLE_MIGRATION_STATUS_COMPLETE"


def _find_legacy_tables(table: DynamoTable, application: str) -> GroupTables:
    """Return the tables of the group: those of the KCL 3.0 to 3.4 too, if they exist."""
    coordination = table.sibling(f"{application}-CoordinatorState", "key")
    reports = table.sibling(f"{application}-WorkerMetricStats", "wid")
    return GroupTables(
        table,
        coordination if _exists(coordination) else None,
        reports if _exists(reports) else None,
        lambda: _find_legacy_tables(table, application),
    )


def _exists(table: ItemTable) -> bool:
    try:
        table.get(MIGRATION)
    except TableNotFoundError:
        return False
    return True
