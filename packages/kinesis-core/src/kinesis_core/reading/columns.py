"""
The columns of a record, each declared once, and `UserRecord`, the same facts as a Python object.

`COLUMNS` is the source of the Arrow schema, the Spark schema and the table in the docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import Enum

import msgspec
from attrs import frozen

from kinesis_core.aggregation import MAGIC, UserRecords
from kinesis_core.errors import OptionError
from kinesis_core.model import Page, Record
from kinesis_core.reading.unpacking import unpack_record
from kinesis_credentials import Advice


class ColumnKind(Enum):
    """The type of a column. The value is Spark's name for it."""

    BINARY = "binary"
    STRING = "string"
    TIMESTAMP = "timestamp"
    LONG = "long"


@frozen
class Column:
    """
    One column.

    Attributes:
        nullable: Whether Kinesis or a producer may leave the value out. The schemas of Arrow and Spark make every column
            nullable, as Spark does for every source.
        meaning: The column's description in the docs.
    """

    name: str
    kind: ColumnKind
    nullable: bool
    meaning: str


DEFAULT_COLUMNS = (
    Column(
        "data",
        ColumnKind.BINARY,
        False,
        "The payload: of the user record, if it came in an aggregate. May be empty.",
    ),
    Column("streamName", ColumnKind.STRING, False, "The name of the stream that the record was read from."),
    Column(
        "partitionKey",
        ColumnKind.STRING,
        True,
        "The partition key: the user record's own, if it came in an aggregate. Null when Kinesis gives none, or the aggregate.",
    ),
    Column(
        "sequenceNumber",
        ColumnKind.STRING,
        False,
        "The sequence number in decimal; user records of one aggregate share it.",
    ),
    Column(
        "approximateArrivalTimestamp",
        ColumnKind.TIMESTAMP,
        True,
        "When Kinesis took the record in, to the millisecond; neither exact nor increasing.",
    ),
)
"""The columns of a reader without its own schema, in this order."""

EXTRA_COLUMNS = (
    Column("shardId", ColumnKind.STRING, False, "The shard that the record was read from."),
    Column(
        "subSequenceNumber",
        ColumnKind.LONG,
        False,
        "The index within the aggregate, from 0; 0 for a record that is not an aggregate.",
    ),
    Column(
        "explicitHashKey",
        ColumnKind.STRING,
        True,
        "The user record's own explicit hash key, in decimal. Null without a valid one, and for a record that is not in an "
        "aggregate: Kinesis does not return it.",
    ),
    Column(
        "stream",
        ColumnKind.STRING,
        False,
        "The stream as the user gave it: its ARN with the option streamARN, else the same as streamName.",
    ),
    Column(
        "encryptionType",
        ColumnKind.STRING,
        True,
        "KMS when the stream was encrypted by the service, else NONE or null.",
    ),
    Column(
        "millisBehindLatest",
        ColumnKind.LONG,
        False,
        "How far the response with this record was behind the shard's tip, in milliseconds.",
    ),
)
"""The columns that a schema may ask for in addition."""

COLUMNS = {column.name: column for column in DEFAULT_COLUMNS + EXTRA_COLUMNS}


def find_columns(names: Iterable[str]) -> tuple[Column, ...]:
    """
    Return the columns with these *names*, in this order.

    Raises:
        OptionError: A name is unknown or repeated, or *names* is empty.
    """
    found: dict[str, Column] = {}
    for name in names:
        if name not in COLUMNS:
            raise OptionError(f"Unknown column '{name}'.{_suggest(name)} Columns: {', '.join(COLUMNS)}.")
        if name in found:
            raise OptionError(f"Column '{name}' is asked for twice. Name each column once.")
        found[name] = COLUMNS[name]
    if not found:
        raise OptionError(f"At least one column is needed. Columns: {', '.join(COLUMNS)}.")
    return tuple(found.values())


def _suggest(name: str) -> str:
    by_lower_name = {known.lower(): known for known in COLUMNS}
    close = get_close_matches(name.lower(), by_lower_name, n=1)
    return f" Did you mean '{by_lower_name[close[0]]}'?" if close else ""


def whole_aggregate_error() -> OptionError:
    """Return the error for a start inside an aggregate when aggregates are not unpacked."""
    return OptionError(
        "Reading begins inside an aggregate: another reader has read some of its user records, so the aggregate cannot be "
        "delivered whole.",
        advice=Advice.UNPACK,
    )


class UserRecord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One record as the producer sent it: a record of the stream, or a user record of a KPL aggregate."""

    stream: str
    """The stream as it was opened: its ARN or name."""
    shard_id: str
    sequence_number: str
    """Decimal digits. The user records of one aggregate share it."""
    sub_sequence_number: int
    """The index within the aggregate, from 0; 0 for a record that is not an aggregate, as in the KCL."""
    partition_key: str | None
    """None when Kinesis returns none, as it may for a stream with record distribution AUTO, or when the aggregate has none."""
    explicit_hash_key: str | None
    """The user record's own, in decimal. Always None outside of aggregates: Kinesis does not return it."""
    data: bytes
    """May be empty."""
    arrived_ms: int | None
    """The arrival time in milliseconds since the epoch; neither exact nor increasing. None when Kinesis returns none."""
    encryption_type: str | None
    """KMS, NONE or None."""
    millis_behind: int
    """How far the response with this record was behind the shard's tip, in milliseconds."""


def user_records(
    page: Page, stream: str, shard_id: str, deaggregate: bool = True, skip: int = 0
) -> list[UserRecord]:
    """
    Return the user records on *page* in the order of the shard. Without *deaggregate*, return its records.

    The first *skip* user records of the first record are left out. Other records are not affected.

    Raises:
        OptionError: *skip* is above 0, and *deaggregate* is False.
    """
    if skip and not deaggregate:
        raise whole_aggregate_error()
    found: list[UserRecord] = []
    for record in page.records:
        may_unpack = deaggregate and record.data.startswith(MAGIC)
        aggregate = unpack_record(record, stream, shard_id) if may_unpack else None
        rows = _plain_row(record) if aggregate is None else _rows(aggregate)
        arrived_ms = record.arrived_ms
        found += [
            UserRecord(
                stream=stream,
                shard_id=shard_id,
                sequence_number=record.sequence_number,
                sub_sequence_number=sub_sequence_number,
                partition_key=partition_key,
                explicit_hash_key=explicit_hash_key,
                data=data,
                arrived_ms=arrived_ms,
                encryption_type=record.encryption_type,
                millis_behind=page.millis_behind,
            )
            for sub_sequence_number, (data, partition_key, explicit_hash_key) in enumerate(rows)
            if sub_sequence_number >= skip
        ]
        skip = 0
    return found


_Row = tuple[bytes, str | None, str | None]


def _plain_row(record: Record) -> Iterator[_Row]:
    yield record.data, record.partition_key, None


def _rows(aggregate: UserRecords) -> Iterator[_Row]:
    return zip(aggregate.data, aggregate.partition_keys, aggregate.explicit_hash_keys, strict=True)
