from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kinesis_core.aggregation import MAGIC, UserRecords, count_user_records, is_aggregate, is_hash_key, unpack
from support.aggregates import sealed
from support.vectors import (
    HASH_KEYS,
    JUST_ONE,
    KEYS_OF_BYTES,
    LEFT_WHOLE,
    ONE,
    TABLE,
    VALID_ENCODINGS,
    user_record,
    varint,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "aggregates"
CASES = [case for path in sorted(GOLDEN.glob("*.json")) for case in json.loads(path.read_text("utf-8"))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_reads_what_another_implementation_wrote_or_read(case: dict[str, Any]) -> None:
    """The user records of aggregates of the npm package aws-kinesis-agg come back, and those of odd aggregates as in the KCL 3.5.1."""
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
        + user_record(b"\x08\x00\x1a\x01a")
        + user_record(b"\x08\x00\x10\x00\x1a\x01b")
        + user_record(b"\x08\x00\x1a\x01c")
    )
    assert unpack(sealed(message)) == UserRecords([b"a", b"b", b"c"], ["k", "k", "k"], [None, "12", None])


def test_an_aggregate_inside_is_data() -> None:
    """A magic number inside the data of a user record is not unpacked again."""
    inner = sealed(TABLE + ONE)
    message = TABLE + user_record(b"\x08\x00\x1a" + bytes([len(inner)]) + inner)
    assert unpack(sealed(message)) == UserRecords([inner], ["k"], [None])


@pytest.mark.parametrize(
    ("message", "why"), VALID_ENCODINGS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_reads_any_valid_encoding(message: bytes, why: str) -> None:
    """Every encoding that protobuf allows is read: other orders, repeated scalars, fields left out, unknown fields."""
    assert unpack(sealed(message)) == JUST_ONE, why


@pytest.mark.parametrize("fields", [b"", b"\x08\x00"], ids=["an empty record", "no data"])
def test_data_that_is_left_out_is_empty(fields: bytes) -> None:
    """A user record without data has protobuf's default, which is no data."""
    assert unpack(sealed(TABLE + ONE + user_record(fields))) == UserRecords(
        [b"one", b""], ["k", "k"], [None, None]
    )


@pytest.mark.parametrize(("key", "read"), KEYS_OF_BYTES)
def test_a_key_may_be_any_bytes(key: bytes, read: str) -> None:
    """
    Keys of AWS's own producers may be cut at 256 bytes, inside a character. The KCL 3.5.1 returns these keys, too.
    """
    table = b"\x0a" + varint(len(key)) + key
    assert unpack(sealed(table + ONE)) == UserRecords([b"one"], [read], [None])


NINE = user_record(b"\x08\x00\x1a\x04nine")


@pytest.mark.parametrize(
    ("odd", "data"),
    [
        (user_record(b"\x08\x01\x1a\x01x"), b"x"),
        (user_record(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x01x"), b"x"),
        (user_record(b"\x08" + b"\x80" * 10 + b"\x00\x1a\x01x"), None),
        (user_record(b"\x08\x00\x1a\x04x"), None),
        (user_record(b"\x08\x00\x1a\x02one"), None),
        (user_record(b"\x0a\x01\x00\x1a\x01x"), None),
        (user_record(b"\x08\x00\x18\x01"), None),
        (user_record(b"\x08\x00\x1a"), None),
        (user_record(b"\x08"), None),
        (user_record(b"\xff\xff"), None),
        (user_record(b"\x08\x00\x23\x1a\x01x"), None),
        (user_record(b"\x08\x00\x23\x2c\x24\x1a\x01x"), None),
        (user_record(b"\x08\x00\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), None),
    ],
    ids=[
        "index beyond the table",
        "an index of 2**64-1",
        "an index of 11 bytes",
        "data that reaches beyond its record",
        "data shorter than its record",
        "an index as text",
        "data as a number",
        "a tag without a length",
        "a tag without a number",
        "half a tag",
        "a group without an end",
        "a group with the end of another one",
        "a huge size",
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_an_odd_user_record_hides_no_other(odd: bytes, data: bytes | None, is_last: bool) -> None:
    """
    A user record that cannot be decoded is kept as it is. Without its key it has its data. The others keep their
    sub-sequence numbers.
    """
    message = TABLE + ONE + odd + (b"" if is_last else NINE)
    expected = [b"one", odd[2:] if data is None else data] + [b"nine"] * (not is_last)
    keys = ["k", None, "k"][: len(expected)]
    assert unpack(sealed(message)) == UserRecords(expected, keys, [None] * len(expected), undecoded=1)


@pytest.mark.parametrize(
    "table",
    [
        b"",
        b"\x12\x00",
        b"\x12\x01\xff",
        b"\x12\x03abc",
        b"\x12\x02-1",
        b"\x12\x0201",
        b"\x12\x27" + b"340282366920938463463374607431768211456",
        b"\x12\x28" + b"1" * 40,
    ],
)
def test_an_explicit_hash_key_that_kinesis_would_refuse_is_none(table: bytes) -> None:
    """An explicit hash key that is missing, not decimal or over 2^128-1 is left out, and counted."""
    message = TABLE + table + ONE + user_record(b"\x08\x00\x10\x00\x1a\x01x")
    assert unpack(sealed(message)) == UserRecords([b"one", b"x"], ["k", "k"], [None, None], undecoded=1)
    unused = TABLE + table + ONE
    assert unpack(sealed(unused)) == JUST_ONE


def test_the_largest_explicit_hash_key() -> None:
    """The hash keys end at 2^128-1."""
    largest = str(2**128 - 1)
    message = TABLE + b"\x12\x27" + largest.encode() + user_record(b"\x08\x00\x10\x00\x1a\x01x")
    assert unpack(sealed(message)) == UserRecords([b"x"], ["k"], [largest])


@pytest.mark.parametrize(("message", "why"), LEFT_WHOLE, ids=[why for _, why in LEFT_WHOLE])
def test_what_is_damaged_between_user_records_is_left_whole(message: bytes, why: str) -> None:
    """If it is not known where user records begin, or their keys would take too much memory, nothing is unpacked."""
    assert is_aggregate(sealed(message))
    assert unpack(sealed(message)) is None, why
    assert count_user_records(sealed(message)) == 1


def test_a_message_of_no_bytes_is_a_plain_record() -> None:
    """So the KCL has it."""
    assert not is_aggregate(sealed(b""))
    assert unpack(sealed(b"")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"one",
        MAGIC,
        MAGIC[:3],
        MAGIC + TABLE + ONE,
        sealed(TABLE + ONE)[:-1],
        sealed(TABLE + ONE) + b"\x00",
        b"\x00" + sealed(TABLE + ONE),
        MAGIC + TABLE + ONE + bytes(16),
        MAGIC + hashlib.md5(b"", usedforsecurity=False).digest()[:8],
    ],
)
def test_magic_and_digest_must_be_right(data: bytes) -> None:
    """Without a magic number before and a valid MD5 after the message, bytes are a plain record."""
    assert unpack(data) is None
    assert not is_aggregate(data)
    assert count_user_records(data) == 1


def test_a_key_may_have_256_characters() -> None:
    """The limit of keys is that of Kinesis, in characters and not in bytes."""
    key = "é" * 256
    encoded = key.encode()
    assert unpack(sealed(b"\x0a\x80\x04" + encoded + ONE)) == UserRecords([b"one"], [key], [None])


def test_tables_without_records_hold_no_user_records() -> None:
    """A valid aggregate without user records yields no user records, as in the KCL."""
    assert unpack(sealed(TABLE)) == UserRecords([], [], [])


def test_a_huge_size_reserves_nothing() -> None:
    """Sizes of 2**63 and more are read as beyond the end of the message, without reserving time or memory."""
    huge = b"\xff" * 9 + b"\x01"
    for message in (b"\x0a" + huge + b"k", b"\x1a" + huge, b"\x22" + huge):
        assert unpack(sealed(message)) is None


def test_records_are_counted() -> None:
    """An aggregate is as many user records as it has, none among them."""
    assert [count_user_records(sealed(message)) for message in (TABLE, TABLE + ONE, TABLE + ONE + ONE)] == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize("text", HASH_KEYS)
def test_hash_keys(text: str) -> None:
    """An explicit hash key is a decimal number from 0 to 2^128-1, without zeros in front."""
    assert is_hash_key(text) == HASH_KEYS[text]
