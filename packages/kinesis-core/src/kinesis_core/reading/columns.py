"""
What a reader can be asked for: the columns, each declared once, and the same facts as a Python object.

The Arrow schema, the Spark schema and the docs table come from `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import Enum

import msgspec
from attrs import frozen

from kinesis_core.aggregation import UserRecords, unpack
from kinesis_core.errors import OptionError
from kinesis_core.model import Page, Record


class Kind(Enum):
    """A column's type; the value is Spark's name for it."""

    BINARY = "binary"
    STRING = "string"
    TIMESTAMP = "timestamp"
    LONG = "long"


@frozen
class Column:
    """
    One column.

    Attributes:
        nullable: Whether Kinesis or a producer may leave it out. A fact about the values: the schemas of
            Arrow and Spark call every column nullable, as Spark does for all that it reads.
    """

    name: str
    kind: Kind
    nullable: bool
    meaning: str


DEFAULT_COLUMNS = (
    Column(
        "data",
        Kind.BINARY,
        False,
        "The payload: of the user record, if it came in an aggregate. May be empty.",
    ),
    Column("streamName", Kind.STRING, False, "The name of the stream that the record was read from."),
    Column(
        "partitionKey",
        Kind.STRING,
        True,
        "The partition key: the user record's own, if it came in an aggregate. Null when Kinesis gives none.",
    ),
    Column(
        "sequenceNumber",
        Kind.STRING,
        False,
        "The sequence number in decimal; user records of one aggregate share it.",
    ),
    Column(
        "approximateArrivalTimestamp",
        Kind.TIMESTAMP,
        True,
        "When Kinesis took the record in, to the millisecond; neither exact nor increasing.",
    ),
)
"""The columns, in this order, of a reader that is not told any."""

EXTRA_COLUMNS = (
    Column("shardId", Kind.STRING, False, "The shard that the record was read from."),
    Column(
        "subSequenceNumber",
        Kind.LONG,
        False,
        "The place within the aggregate, counted from 0; 0 for a record that is none.",
    ),
    Column(
        "explicitHashKey",
        Kind.STRING,
        True,
        "The user record's own explicit hash key, in decimal. Null without one, and for a record that is not in an "
        "aggregate: Kinesis does not return it.",
    ),
    Column(
        "stream",
        Kind.STRING,
        False,
        "What the user named the stream by: its ARN if the option streamARN did, else the same as streamName.",
    ),
    Column(
        "encryptionType",
        Kind.STRING,
        True,
        "KMS when the stream was encrypted by the service, else NONE or null.",
    ),
    Column(
        "millisBehindLatest",
        Kind.LONG,
        False,
        "How far the answer that brought the record was behind the shard's tip, in milliseconds.",
    ),
)
"""The columns that are there for the asking."""

COLUMNS = {column.name: column for column in DEFAULT_COLUMNS + EXTRA_COLUMNS}


def find_columns(names: Iterable[str]) -> tuple[Column, ...]:
    """
    Return the columns called *names*, in that order.

    Raises:
        OptionError: A name is not a column's or comes twice, or there is none.
    """
    found: dict[str, Column] = {}
    for name in names:
        if name not in COLUMNS:
            raise OptionError(f"Unknown column '{name}'.{_suggest(name)} Columns: {', '.join(COLUMNS)}.")
        if name in found:
            raise OptionError(f"Column '{name}' is asked for twice.")
        found[name] = COLUMNS[name]
    if not found:
        raise OptionError(f"At least one column is needed. Columns: {', '.join(COLUMNS)}.")
    return tuple(found.values())


def _suggest(name: str) -> str:
    by_lower_name = {known.lower(): known for known in COLUMNS}
    close = get_close_matches(name.lower(), by_lower_name, n=1)
    return f" Did you mean '{by_lower_name[close[0]]}'?" if close else ""


def whole_aggregate_error() -> OptionError:
    """Return the error for a start inside an aggregate when aggregates are to be left whole."""
    return OptionError(
        "The query begins inside an aggregate, some of whose user records were read before, so the aggregate cannot be "
        "delivered whole. Leave out deaggregate=false, at least until the query has passed that record."
    )


class UserRecord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a producer sent: a record, or one of the user records in an aggregate."""

    stream: str
    """What the stream was opened by: its ARN or name."""
    shard_id: str
    sequence_number: str
    sub_sequence_number: int
    """The place within the aggregate, from 0; 0 for a record that is none, as in the KCL."""
    partition_key: str | None
    explicit_hash_key: str | None
    data: bytes
    arrived_ms: int | None
    encryption_type: str | None
    millis_behind: int


def user_records(
    page: Page, stream: str, shard_id: str, deaggregate: bool = True, skip: int = 0
) -> list[UserRecord]:
    """
    Return the user records on *page*, in the order of the shard; without *deaggregate*, its records.

    The first *skip* user records of the first record are left out, never any of the next record.

    Raises:
        OptionError: User records are to be left out of an aggregate that is to be left whole.
    """
    if skip and not deaggregate:
        raise whole_aggregate_error()
    found: list[UserRecord] = []
    for record in page.records:
        aggregate = unpack(record.data) if deaggregate else None
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
