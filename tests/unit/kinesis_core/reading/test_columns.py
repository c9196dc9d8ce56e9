from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from kinesis_core.aggregation import MAGIC
from kinesis_core.errors import OptionError
from kinesis_core.model import Page, Record
from kinesis_core.reading import COLUMNS, DEFAULT_COLUMNS, UserRecord, find_columns, user_records

MESSAGE = b"\x0a\x01k\x0a\x01l\x12\x0212\x1a\x05\x08\x00\x1a\x01a\x1a\x07\x08\x01\x10\x00\x1a\x01b"
AGGREGATE = MAGIC + MESSAGE + hashlib.md5(MESSAGE, usedforsecurity=False).digest()
"""Two user records: a under key k, b under key l with explicit hash key 12."""

PAGE = Page(
    records=[
        Record("1", b"plain", "key", 1790000012.345, "KMS"),
        Record("2", AGGREGATE, "a", 1790000012.346),
        Record("3", b""),
    ],
    millis_behind=7,
)


def test_default_columns_are_those_of_the_jvm_connectors() -> None:
    """A reader without a schema has these five columns, in this order."""
    assert [(column.name, column.kind.value) for column in DEFAULT_COLUMNS] == [
        ("data", "binary"),
        ("streamName", "string"),
        ("partitionKey", "string"),
        ("sequenceNumber", "string"),
        ("approximateArrivalTimestamp", "timestamp"),
    ]


def test_a_schema_may_name_extra_columns() -> None:
    """A schema may name six more columns."""
    assert [(column.name, column.kind.value) for column in COLUMNS.values()][5:] == [
        ("shardId", "string"),
        ("subSequenceNumber", "long"),
        ("explicitHashKey", "string"),
        ("stream", "string"),
        ("encryptionType", "string"),
        ("millisBehindLatest", "long"),
    ]


def test_what_kinesis_may_leave_out_is_nullable() -> None:
    """Only these four columns can be null."""
    assert {column.name for column in COLUMNS.values() if column.nullable} == {
        "partitionKey",
        "approximateArrivalTimestamp",
        "explicitHashKey",
        "encryptionType",
    }


def test_columns_are_found_in_the_order_asked_for() -> None:
    """Any subset in any order."""
    assert [column.name for column in find_columns(["stream", "data"])] == ["stream", "data"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Data"], "Unknown column 'Data'. Did you mean 'data'?"),
        (["partition_key"], "Unknown column 'partition_key'. Did you mean 'partitionKey'?"),
        (["q"], "Unknown column 'q'. Columns: data, streamName,"),
        (["data", "stream", "data"], "Column 'data' is asked for twice."),
        ([], "At least one column is needed. Columns: data,"),
    ],
)
def test_bad_columns_are_refused(names: list[str], message: str) -> None:
    """The error for an unknown name has the most similar known name and the list of all."""
    with pytest.raises(OptionError) as caught:
        find_columns(names)
    assert str(caught.value).startswith(message)


def test_user_records_are_what_producers_sent() -> None:
    """Records and user records of aggregates come in the order of the shard, each with its own keys."""
    first = UserRecord(
        stream="orders",
        shard_id="shardId-000000000000",
        sequence_number="1",
        sub_sequence_number=0,
        partition_key="key",
        explicit_hash_key=None,
        data=b"plain",
        arrived_ms=1790000012345,
        encryption_type="KMS",
        millis_behind=7,
    )
    second = replace(
        first,
        sequence_number="2",
        partition_key="k",
        data=b"a",
        arrived_ms=1790000012346,
        encryption_type=None,
    )
    third = replace(second, sub_sequence_number=1, partition_key="l", explicit_hash_key="12", data=b"b")
    last = replace(
        first, sequence_number="3", partition_key=None, data=b"", arrived_ms=None, encryption_type=None
    )
    assert user_records(PAGE, "orders", "shardId-000000000000") == [first, second, third, last]


def test_aggregates_can_be_left_whole() -> None:
    """Without de-aggregation an aggregate is one record with its own partition key and all its bytes."""
    found = user_records(PAGE, "orders", "shardId-000000000000", deaggregate=False)
    assert [(record.partition_key, record.data) for record in found] == [
        ("key", b"plain"),
        ("a", AGGREGATE),
        (None, b""),
    ]
