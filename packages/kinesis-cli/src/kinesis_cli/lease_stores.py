"""Where applications keep their leases: each in a table of DynamoDB, or several in a file of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from kinesis_cli.ending import CommandError

if TYPE_CHECKING:
    from kinesis_consumer.stores import SqliteTable
    from kinesis_core.aws import Connection
    from kinesis_core.leases import Lease, LeaseCheckpoint, LeaseTable, Value


@frozen
class Change:
    """A write to one lease. It grows the counter, so that an owner that runs notices it."""

    lease: Lease
    expect: Mapping[str, Value | None]
    set: Mapping[str, Value] = field(factory=dict)
    remove: tuple[str, ...] = ()
    checkpoint: LeaseCheckpoint | None = None
    """The new one, if it changes."""


class LeaseStore(Protocol):
    """The items of one application."""

    @property
    def name(self) -> str:
        """The name of the table: by default that of the application."""
        ...

    def scan(self) -> list[dict[str, Any]]:
        """
        Return all items, in DynamoDB's JSON. Nothing is written.

        Raises:
            TableNotFoundError: DynamoDB has no such table.
            CommandError: The file has no leases of the application.
            ServiceError: The store refuses.
        """
        ...

    def update(self, change: Change) -> bool:
        """
        Make *change*. Returns False if the item does not have the expected values.

        Raises:
            ServiceError: The store refuses.
        """
        ...


def open_leases(
    connect: Callable[[], Connection], application: str, endpoint_url: str | None, file: Path | None
) -> LeaseStore:
    """
    Return the leases of *application*: those in *file*, else those in DynamoDB, at *endpoint_url* if it is given. Makes no call.

    A file needs no connection: *connect* is called only for DynamoDB.

    Raises:
        CommandError: There is no such file, or kinesis-consumer is not installed.
        CredentialsError: There is no region or no credentials for DynamoDB.
    """
    if file is None:
        from kinesis_core.leases import open_table

        return _DynamoStore(open_table(connect(), application, endpoint_url))
    try:
        from kinesis_consumer.stores import SqliteTable
    except ImportError as error:
        raise CommandError('--leases needs kinesis-consumer: pip install "kinesis-cli[consumer]"') from error
    if not file.is_file():
        raise CommandError(
            f"There is no file {file}. Give --leases the file that the consumer group is opened with: ConsumerGroup.open(leases=...)."
        )
    return _SqliteStore(SqliteTable(file, application), file)


_COUNTER = {"leaseCounter": 1}


@frozen
class _DynamoStore:
    table: LeaseTable

    @property
    def name(self) -> str:
        return self.table.name

    def scan(self) -> list[dict[str, Any]]:
        return self.table.scan()

    def update(self, change: Change) -> bool:
        from kinesis_core.leases import update_request

        request = update_request(change.expect, change.set, change.remove, _COUNTER)
        return self.table.update(change.lease.key, request)


@frozen
class _SqliteStore:
    table: SqliteTable
    file: Path

    @property
    def name(self) -> str:
        return self.table.name

    def scan(self) -> list[dict[str, Any]]:
        from kinesis_core.leases import item_to_dynamodb

        items = self.table.scan() if self.table.exists() else []
        if not items:
            raise CommandError(self._without_leases())
        return [item_to_dynamodb(item) for item in items]

    def update(self, change: Change) -> bool:
        from kinesis_consumer.stores import Update

        update = Update(change.lease.key, change.expect, change.set, change.remove, _COUNTER)
        return self.table.update(update) is not None

    def _without_leases(self) -> str:
        others = self.table.applications() if self.table.exists() else []
        if others:
            return f"{self.file} has no leases of the application {self.name}. It has those of: {', '.join(others)}."
        return f"{self.file} has no leases. Give --leases the file that the consumer group is opened with: ConsumerGroup.open(leases=...)."
