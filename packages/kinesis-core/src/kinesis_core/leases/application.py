"""
The point that a KCL application has reached, as its lease table says: where another reader continues.

A checkpoint names the last user record that was processed, by its record and its index within it. Reading continues after that one,
inside an aggregate too. TRIM_HORIZON and SHARD_END say where reading continues as well. LATEST and AT_TIMESTAMP do not: a KCL keeps
no time in the table. The user has to give the positions of such shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

from kinesis_core.aws import Connection, StreamApi
from kinesis_core.errors import OptionError, TableNotFoundError
from kinesis_core.leases.attributes import Item, item_from_dynamodb
from kinesis_core.leases.items import ENTITY_TYPE, LeaseItemError, is_lease, read_lease
from kinesis_core.leases.lease import (
    ALL_USER_RECORDS,
    LEASE_KEY,
    TRIM_HORIZON,
    Lease,
    identify_stream,
    leases_of_stream,
    recreation,
    show_names,
)
from kinesis_core.leases.table import open_table
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    KclApplication,
    PerStream,
    ShardEnd,
    StartingPosition,
    TrimHorizon,
    position_in,
)
from kinesis_credentials.advice import Setting
from kinesis_credentials.logs import get_logger

_SHOWN = 20
"""Maximum number of shards and streams named in an error."""
_METRICS = "WORKER_METRIC_STATS"
_ALIVE_S = 120
"""A worker of KCL 3.5 writes the time every 30 seconds, from its own clock."""

log = get_logger("kinesis_core")


class ScannedTable(Protocol):
    """The part of a lease table's client that is needed here."""

    name: str

    def scan(self) -> list[dict[str, Any]]: ...


OpenTable = Callable[[KclApplication], ScannedTable]


def application_tables(connection: Connection, endpoint_url: str | None = None) -> OpenTable:
    """Return a function that opens the lease table of an application, with the credentials of *connection*."""
    return lambda given: open_table(connection, given.table, endpoint_url, region=given.region)


def resume_from_applications(
    position: StartingPosition, apis: Mapping[str, StreamApi], open_application: OpenTable
) -> StartingPosition:
    """
    Return *position* with what the lease tables say in the place of KCL applications. Each table is read once.

    Args:
        apis: The streams that are read, by the name or ARN that the user gave.

    Raises:
        OptionError: A table does not exist, is not a lease table, has no lease of a stream, or does not say where a shard continues.
        ServiceError: DynamoDB refuses, or cannot be reached.
    """
    found = {stream: position_in(stream, apis, position, Setting.START) for stream in apis}
    given = {stream: each for stream, each in found.items() if isinstance(each, KclApplication)}
    if not given:
        return position
    tables: dict[tuple[str, str | None], _Table] = {}
    resumed: dict[str, Any] = dict(found)
    for stream, application in given.items():
        key = application.table, application.region
        if key not in tables:
            tables[key] = _Table.read(open_application(application))
            warn_of_workers(application.table, tables[key].leases, tables[key].others, apis[stream].now_ms())
        readers = [s for s, each in given.items() if (each.table, each.region) == key]
        leases = tables[key].leases_of(stream, apis[stream], readers)
        resumed[stream] = ForeignCheckpoint(_cuts(application, leases))
        log.info("table.read", table=application.table, stream=stream, leases=len(leases))
    return PerStream(resumed)


@frozen
class _Table:
    """What a lease table holds."""

    name: str
    leases: Sequence[Lease]
    others: Sequence[Item]
    """Items that coordinate the workers."""

    @staticmethod
    def read(table: ScannedTable) -> _Table:
        try:
            items = table.scan()
        except TableNotFoundError as error:
            raise _unusable(
                table.name,
                "does not exist. A KCL application has a lease table of its own name, unless it sets another one. Check the name, "
                f"the region and the account. {error.what}",
            ) from error
        try:
            read = [item_from_dynamodb(item) for item in items]
            keyed = [item for item in read if LEASE_KEY in item]
            leases = [read_lease(item) for item in keyed if is_lease(item)]
        except (LeaseItemError, ValueError, TypeError) as error:
            raise _unusable(table.name, f"is damaged: {error}.") from error
        if len(keyed) < len(items):
            names = ", ".join(sorted(next(item for item in read if LEASE_KEY not in item)))
            raise _unusable(
                table.name, f"is not a lease table of the KCL: it has an item without {LEASE_KEY} ({names})."
            )
        if not leases:
            raise _unusable(
                table.name,
                "has no leases: the application has read nothing, or it is another table. Give another starting position, such as "
                "TRIM_HORIZON.",
            )
        return _Table(table.name, leases, [item for item in keyed if not is_lease(item)])

    def leases_of(self, stream: str, api: StreamApi, readers: Sequence[str]) -> list[Lease]:
        """Return the leases of one stream. *readers* are the streams that shall continue from this table."""
        unnamed = [lease for lease in self.leases if lease.stream is None]
        leases = unnamed if len(unnamed) == len(self.leases) else self._find(stream, api)
        if len(readers) > 1 and any(lease.stream is None for lease in leases):
            raise _unusable(
                self.name,
                f"has the leases of one stream, without its name, and {len(readers)} streams start from it. "
                f'Give the position by stream: {{"{stream}": {{"kclApplication": "{self.name}"}}, ...}}.',
            )
        return leases

    def _find(self, stream: str, api: StreamApi) -> list[Lease]:
        summary = api.describe()
        now = identify_stream(summary.arn, summary.created_ms)
        if reason := recreation(self.leases, now):
            raise _unusable(
                self.name,
                f"{reason}. Its shards and records are others. Give another starting position.",
                stream=stream,
            )
        leases = leases_of_stream(self.leases, now)
        if not leases:
            shown = show_names(sorted({str(lease.stream) for lease in self.leases}), _SHOWN)
            raise _unusable(
                self.name, f"has no lease of this stream. It has leases of {shown}.", stream=stream
            )
        return leases


def _cuts(application: KclApplication, leases: Iterable[Lease]) -> dict[str, Any]:
    """Return where each shard continues. What the user gives takes precedence."""
    cuts: dict[str, Any] = {}
    unknown: list[Lease] = []
    for lease in leases:
        cut = lease_cut(lease)
        if cut is None and lease.shard_id not in application.cuts:
            unknown.append(lease)
        cuts[lease.shard_id] = cut
    if unknown:
        raise _unknown_error(application, sorted(unknown, key=lambda lease: lease.shard_id))
    return {**cuts, **application.cuts}


def lease_cut(lease: Lease) -> Cut | None:
    """Return the point after the last user record that was processed; None if the lease does not say it."""
    checkpoint = lease.checkpoint
    if checkpoint.is_number:
        number, read = int(checkpoint.number), checkpoint.sub_sequence_number + 1
        return After(number) if read > ALL_USER_RECORDS else At(number, max(0, read))
    if checkpoint.is_shard_end:
        return ShardEnd()
    if checkpoint.number == TRIM_HORIZON:
        return TrimHorizon()
    return None if lease.starting_ms is None else AtTimestamp(lease.starting_ms)


def _unknown_error(application: KclApplication, leases: Sequence[Lease]) -> OptionError:
    words = "/".join(sorted({lease.checkpoint.number for lease in leases}))
    shards = [lease.shard_id for lease in leases]
    shown = show_names(shards, _SHOWN)
    return _unusable(
        application.table,
        f"has the word {words} for {shown}: the application has no checkpoint in these shards, and the table does not hold the "
        "time at which it began there. Add a position for each of them, for example "
        f'{{"kclApplication": "{application.table}", "{shards[0]}": "AT_TIMESTAMP 2026-01-31T09:00:00Z"}} with the time at which '
        "the application began (for AT_TIMESTAMP, the time in its configuration). TRIM_HORIZON reads all records of the shard, LATEST "
        "skips those that are in it now.",
    )


def _unusable(table: str, why: str, **where: Any) -> OptionError:
    return OptionError(f"names a KCL application, whose table {table} {why}", about=Setting.START, **where)


def warn_of_workers(table: str, leases: Iterable[Lease], others: Iterable[Item], now_ms: int) -> None:
    """
    Log which workers may still run: they and the query would both process the records from here on.

    KCL 3.5 keeps the time of each worker's last sign of life in the table. Otherwise only the owners of leases are known, whom a
    KCL that was stopped usually leaves behind.
    """
    seen_s = {str(item[LEASE_KEY]): item.get("lut") for item in others if item.get(ENTITY_TYPE) == _METRICS}
    if seen_s:
        alive = {
            w for w, at_s in seen_s.items() if isinstance(at_s, int) and now_ms / 1000 - at_s <= _ALIVE_S
        }
        _warn(table, alive, "they have reported to the table within the last two minutes, so they run")
    else:
        owners = {lease.actual_owner for lease in leases if lease.actual_owner and not lease.is_finished}
        _warn(table, owners, "they own leases, and the table does not tell whether they still run")


def _warn(table: str, workers: set[str], reason: str) -> None:
    if workers:
        log.warning("lease.owned", table=table, workers=show_names(sorted(workers)), reason=reason)
