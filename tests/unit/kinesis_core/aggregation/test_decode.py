from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kinesis_core.aggregation import MAGIC, UserRecords, unpack

GOLDEN = Path(__file__).parents[3] / "golden" / "aggregates" / "aws-kinesis-agg.json"

TABLE = b"\x0a\x01k"  # partition_key_table: "k"
ONE = b"\x1a\x07\x08\x00\x1a\x03one"  # records: {partition_key_index: 0, data: "one"}
JUST_ONE = UserRecords([b"one"], ["k"], [None])


def seal(message: bytes) -> bytes:
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def record(body: bytes) -> bytes:
    assert len(body) < 128
    return bytes([0x1A, len(body)]) + body


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: str(case["name"]))
def test_reads_what_another_implementation_wrote(case: dict[str, Any]) -> None:
    """The user records of aggregates of the npm package aws-kinesis-agg come back."""
    expected = case["user_records"]
    assert unpack(base64.b64decode(case["aggregate"])) == UserRecords(
        [base64.b64decode(user_record["data"]) for user_record in expected],
        [user_record["partition_key"] for user_record in expected],
        [user_record["explicit_hash_key"] for user_record in expected],
    )


def test_explicit_hash_keys_stay_with_their_own() -> None:
    """A user record without an explicit hash key gets None, not the first one of the table."""
    message = (
        TABLE
        + b"\x12\x0212"
        + record(b"\x08\x00\x1a\x01a")
        + record(b"\x08\x00\x10\x00\x1a\x01b")
        + record(b"\x08\x00\x1a\x01c")
    )
    assert unpack(seal(message)) == UserRecords([b"a", b"b", b"c"], ["k", "k", "k"], [None, "12", None])


def test_an_aggregate_inside_is_data() -> None:
    """A magic number inside the data of a user record is not unpacked again."""
    inner = seal(TABLE + ONE)
    message = TABLE + record(b"\x08\x00\x1a" + bytes([len(inner)]) + inner)
    assert unpack(seal(message)) == UserRecords([inner], ["k"], [None])


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (ONE + TABLE, "a table after the records that point into it"),
        (TABLE + record(b"\x1a\x03one\x08\x00"), "fields of a record in another order"),
        (TABLE + record(b"\x08\x07\x08\x00\x1a\x01x\x1a\x03one"), "fields that come twice: the last counts"),
        (TABLE + record(b"\x08\x80\x00\x1a\x83\x00one"), "numbers longer than they need be"),
        (TABLE + record(b"\x08\x00\x1a\x03one\x22\x05\x0a\x03tag"), "tags"),
        (b"\x20\xff\x7f" + TABLE + ONE, "an unknown varint"),
        (b"\x21\xff\xff\xff\xff\xff\xff\xff\xff" + TABLE + ONE, "an unknown fixed 64-bit value"),
        (b"\x25\xff\xff\xff\xff" + TABLE + ONE, "an unknown fixed 32-bit value"),
        (b"\xa2\x06\x03abc" + TABLE + ONE, "an unknown text in field 100"),
        (
            TABLE + record(b"\x31\xff\xff\xff\xff\xff\xff\xff\xff\x08\x00\x1a\x03one"),
            "an unknown field of a record",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reads_any_valid_encoding(message: bytes, why: str) -> None:
    """Every encoding that protobuf allows is read: other orders, repeated scalars, unknown fields."""
    assert unpack(seal(message)) == JUST_ONE, why


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (ONE, "index beyond an empty table"),
        (TABLE + record(b"\x08\x01\x1a\x01x"), "partition key index beyond the table"),
        (TABLE + record(b"\x08\x00\x10\x00\x1a\x01x"), "explicit hash key index without a table"),
        (TABLE + record(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x01x"), "an index of 2**64-1"),
        (TABLE + record(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x1a\x01x"), "an index over 64 bits"),
        (TABLE + record(b"\x08" + b"\x80" * 10 + b"\x00\x1a\x01x"), "an index of 11 bytes"),
        (TABLE + ONE + record(b"\x1a\x01x"), "no partition key index"),
        (TABLE + ONE + record(b"\x08\x00"), "no data"),
        (TABLE + ONE + record(b""), "an empty record"),
        (TABLE + ONE[:-1], "a record cut short"),
        (TABLE + ONE + b"\x1a", "a tag without a length"),
        (TABLE + ONE + b"\x1a\xff", "half a length"),
        (TABLE + ONE + b"\x0a\x05abc", "a table entry cut short"),
        (TABLE + ONE + b"\x22\x05abc", "an unknown field cut short"),
        (TABLE + ONE + b"\x21\x00\x00", "a fixed value cut short"),
        (TABLE + record(b"\x08\x00\x1a\x04one") + ONE, "data that reaches beyond its record"),
        (TABLE + record(b"\x08\x00\x1a\x02one"), "data shorter than its record"),
        (TABLE + ONE + b"\x18\x00", "records as a number"),
        (b"\x08\x00" + TABLE + ONE, "a partition key as a number"),
        (TABLE + record(b"\x0a\x01\x00\x1a\x01x"), "an index as text"),
        (TABLE + record(b"\x08\x00\x18\x01"), "data as a number"),
        (TABLE + ONE + b"\x00\x00", "field number 0"),
        (TABLE + ONE + b"\x80\x80\x80\x80\x10\x00", "field number 2**29"),
        (TABLE + ONE + b"\x23\x24", "a group"),
        (TABLE + ONE + b"\x26\x00", "wire type 6"),
        (TABLE + ONE + b"\x9a\x00\x00", "a known tag longer than it need be"),
        (b"\x0a\x01\xff" + ONE, "a partition key that is not UTF-8"),
        (b"\x0a\x03\xed\xa0\x80" + ONE, "a partition key with half a surrogate pair"),
        (TABLE + b"\x12\x01\xff" + ONE, "an explicit hash key that is not UTF-8"),
        (b"\x0a\x81\x02" + b"k" * 257 + ONE, "a partition key of 257 characters"),
        (b"", "a message of no bytes, as the KCL takes it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_else_is_a_plain_record(message: bytes, why: str) -> None:
    """An invalid message is a plain record. No part of it is unpacked."""
    assert unpack(seal(message)) is None, why


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"one",
        MAGIC,
        MAGIC[:3],
        MAGIC + TABLE + ONE,
        seal(TABLE + ONE)[:-1],
        seal(TABLE + ONE) + b"\x00",
        b"\x00" + seal(TABLE + ONE),
        MAGIC + TABLE + ONE + bytes(16),
        MAGIC + hashlib.md5(b"", usedforsecurity=False).digest()[:8],
    ],
)
def test_magic_and_digest_must_be_right(data: bytes) -> None:
    """Without a magic number before and a valid MD5 after the message, bytes are a plain record."""
    assert unpack(data) is None


def test_a_key_may_have_256_characters() -> None:
    """The limit of keys is that of Kinesis, in characters and not in bytes."""
    key = "é" * 256
    encoded = key.encode()
    assert unpack(seal(b"\x0a\x80\x04" + encoded + ONE)) == UserRecords([b"one"], [key], [None])


def test_tables_without_records_hold_no_user_records() -> None:
    """A valid aggregate without user records yields no user records, as in the KCL."""
    assert unpack(seal(TABLE)) == UserRecords([], [], [])


def test_a_huge_size_reserves_nothing() -> None:
    """Sizes of 2**63 and more are read as beyond the end of the message, without reserving time or memory."""
    huge = b"\xff" * 9 + b"\x01"
    for message in (
        b"\x0a" + huge + b"k",
        b"\x1a" + huge,
        TABLE + record(b"\x08\x00\x1a" + huge),
        b"\x22" + huge,
    ):
        assert unpack(seal(message)) is None
