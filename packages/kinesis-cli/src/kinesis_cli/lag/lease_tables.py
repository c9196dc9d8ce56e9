"""Positions in the lease table of a KCL application, or of a consumer group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kinesis_cli.ending import CommandError
from kinesis_cli.lag.readings import Position, Reading
from kinesis_cli.wording import in_words_of_commands

if TYPE_CHECKING:
    from kinesis_cli.lease_stores import LeaseStore
    from kinesis_core.leases import Lease
    from kinesis_core.model import StreamSummary

APPLICATION = "application"


def read_table(store: LeaseStore, summary: StreamSummary) -> Reading:
    """
    Return the positions of the application in *store* in the stream that *summary* describes.

    Raises:
        CommandError: It is not a lease table, or it has no lease of the stream.
        ServiceError: DynamoDB or SQLite refuses.
    """
    from kinesis_core import TableNotFoundError

    table = store.name
    try:
        items = store.scan()
    except TableNotFoundError as error:
        raise CommandError(
            f"The lease table {table} does not exist. It has the name of the application, unless the application sets another one. If the group keeps its leases in a file of SQLite, give --leases FILE. {in_words_of_commands(error)}"
        ) from error
    return reading_of(table, leases_of(table, items), summary)


def leases_of(table: str, items: Iterable[Mapping[str, Any]]) -> list[Lease]:
    """
    Return the leases among *items*, in DynamoDB's JSON.

    Raises:
        CommandError: An item is not one of a lease table.
    """
    from kinesis_core.leases import LEASE_KEY, is_lease, item_from_dynamodb, read_lease

    try:
        read = [item_from_dynamodb(dict(item)) for item in items]
        if not all(LEASE_KEY in item for item in read):
            raise CommandError(
                f"{table} is not a lease table: it has an item without {LEASE_KEY}. Name another table."
            )
        return [read_lease(item) for item in read if is_lease(item)]
    except (ValueError, TypeError) as error:
        raise CommandError(f"The lease table {table} is damaged: {error}.") from error


def reading_of(table: str, leases: Sequence[Lease], summary: StreamSummary) -> Reading:
    """
    Return the positions of *leases* in the stream that *summary* describes.

    Raises:
        CommandError: There is no lease of the stream, or it was deleted and created again since.
    """
    mine = _of_stream(table, leases, summary)
    return Reading(
        reader=table,
        kind=APPLICATION,
        positions={lease.shard_id: _position(lease) for lease in mine},
        committed_ms=max(
            (lease.committed_ms for lease in mine if lease.committed_ms is not None), default=None
        ),
    )


def _of_stream(table: str, leases: Sequence[Lease], summary: StreamSummary) -> list[Lease]:
    from kinesis_core.leases import identify_stream, leases_of_stream, recreation, show_names

    if not leases:
        raise CommandError(f"The lease table {table} has no leases: the application has read nothing yet.")
    now = identify_stream(summary.arn, summary.created_ms)
    if reason := recreation(leases, now):
        raise CommandError(f"The lease table {table} {reason}. Its shards and records are others.")
    mine = leases_of_stream(leases, now)
    if mine:
        return mine
    streams = sorted({str(lease.stream) for lease in leases})
    shown = show_names(streams)
    raise CommandError(f"The lease table {table} has no lease of {summary.name}. It has leases of {shown}.")


def _position(lease: Lease) -> Position:
    from kinesis_core.leases import lease_cut

    checkpoint = lease.checkpoint
    shown = f"AFTER {checkpoint}" if checkpoint.is_number else str(checkpoint)
    return Position(lease_cut(lease), shown, owner=lease.actual_owner)
