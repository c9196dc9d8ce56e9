"""Where a group keeps its leases, as its user says it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Protocol

from attrs import evolve, field, frozen

from kinesis_consumer.arguments import refused, verify_table_name
from kinesis_consumer.patience import OPENING, patiently
from kinesis_consumer.stores import DynamoTable, ItemTable, MemoryTable, SqliteTable
from kinesis_core.aws import Connection, verify_endpoint
from kinesis_core.clock import SteadyClock


class LeaseStore(Protocol):
    """A store: the place of the leases of groups."""

    def open(self, application: str, connection: Connection) -> ItemTable:
        """
        Return the table of *application*, ready for use. *connection* says how the group reaches its streams.

        Raises:
            OptionError: The name belongs to something else.
            GroupStateError: Another version of this package has created it.
            ServiceError: The store cannot be reached, or access is denied.
        """
        ...


@frozen
class MemoryLeases:
    """Leases in memory: for tests, and for groups of one process. They are lost when the process ends."""

    _tables: dict[str, MemoryTable] = field(factory=dict, init=False, repr=False)

    def open(self, application: str, connection: Connection) -> ItemTable:  # noqa: ARG002 - it needs none
        return self._tables.setdefault(application, MemoryTable(application))


@frozen
class SqliteLeases:
    """
    Leases in an SQLite file: for several processes on one machine. The file must not be on a network drive.

    If the file does not exist, `ConsumerGroup.open` creates it. Several applications can share one file.
    """

    path: str | Path
    """The path of the file."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise refused("path", "the path of a file", self.path)

    def open(self, application: str, connection: Connection) -> ItemTable:  # noqa: ARG002 - it needs none
        table = SqliteTable(self.path, application)
        patiently("prepare", table.prepare, SteadyClock(), random.Random())  # noqa: S311 # jitter, not a secret
        return table


@frozen
class DynamoLeases:
    """
    Leases in DynamoDB, in the layout of Java's KCL 3.5: for processes on several machines, and beside the KCL.

    The table is in the region of the first stream. If the table does not exist, `ConsumerGroup.open` creates it, with the index that
    the KCL 3.x uses, and billed by request.
    """

    table: str | None = None
    """The name of the table. The default is the name of the application."""
    endpoint_url: str | None = None
    """The URL of DynamoDB. The default is what botocore finds, such as `AWS_ENDPOINT_URL_DYNAMODB`."""
    add_index: bool = False
    """
    Whether `ConsumerGroup.open` adds the index to a table without it. A KCL 1.x or 2.x creates such a table, and a group needs the
    index. The KCL 3.x adds the same index. DynamoDB takes minutes for it.
    """

    def __attrs_post_init__(self) -> None:
        if self.table is not None:
            verify_table_name("table", self.table)
        verify_endpoint(self.endpoint_url)
        if not isinstance(self.add_index, bool):
            raise refused("add_index", "True or False", self.add_index)

    def open(self, application: str, connection: Connection) -> ItemTable:
        table = DynamoTable.open(
            evolve(connection, retry=OPENING),
            self.table or application,
            self.endpoint_url,
            with_index=self.add_index,
        )
        table.prepare()
        return table


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
