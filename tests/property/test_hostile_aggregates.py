"""Any bytes between an aggregate's magic number and a valid MD5: user records, or an unchanged plain record."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, strategies as st

from kinesis_core.aggregation import MAGIC, unpack
from support.hostile import mutated, peak_bytes

KEYS = b"\x0a\x01a\x0a\x02bc" + b"\x12\x011"
RECORD = b"\x1a\x07\x08\x01\x10\x00\x1a\x01x"
TAGGED = b"\x1a\x0b\x08\x00\x1a\x01y\x22\x04\x0a\x02tt"
GOOD = KEYS + RECORD + TAGGED
numbers = st.sampled_from([0, 1, 2, 127, 128, 2**31, 2**32, 2**63, 2**64 - 1, 2**64, 2**69, 2**700])


def varint(value: int) -> bytes:
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


def aggregate(message: bytes) -> bytes:
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


records = st.builds(
    lambda key, hash_key, size: (
        b"\x08" + varint(key) + b"\x10" + varint(hash_key) + b"\x1a" + varint(size) + b"x"
    ),
    numbers,
    numbers,
    numbers,
)
out_of_range = st.builds(
    lambda content, size: KEYS + b"\x1a" + varint(size or len(content)) + content, records, numbers
)
messages = st.one_of(
    st.binary(max_size=200),
    mutated(GOOD),
    out_of_range,
    st.builds(lambda tag, size: GOOD + bytes([tag]) + varint(size), st.integers(0, 255), numbers),
)


@given(messages)
def test_anything_after_the_magic_is_whole_or_plain(message: bytes) -> None:
    """Any message yields columns of one length or a plain record, and never an error."""
    found = unpack(aggregate(message))
    if found is not None:
        assert len(found.data) == len(found.partition_keys) == len(found.explicit_hash_keys)
        assert sum(map(len, found.data)) <= len(message)


def test_the_message_that_is_damaged_is_a_good_one() -> None:
    """The message that the other tests damage is an aggregate of two user records."""
    found = unpack(aggregate(GOOD))
    assert found is not None
    assert (found.data, found.partition_keys, found.explicit_hash_keys) == (
        [b"x", b"y"],
        ["bc", "a"],
        ["1", None],
    )


@given(mutated(aggregate(GOOD)))
def test_a_damaged_aggregate_is_a_plain_record(data: bytes) -> None:
    """An aggregate whose MD5 is wrong is a plain record."""
    assert data == aggregate(GOOD) or unpack(data) is None


MANY = 50_000


@pytest.mark.tests
@pytest.mark.parametrize(
    "message",
    [
        b"\x0a\x00" + b"\x1a\x04\x08\x00\x1a\x00" * MANY,
        b"\x0a\x00" * MANY,
        b"\x0a\x02bc" * MANY,
        b"\x0a" + varint(2**63) + b"a" * MANY,
        b"\x1a" + varint(2**32) + b"\x08\x00\x1a" + varint(2**32),
        b"\x22\x00" * MANY,
        b"\xff" * MANY,
        b"\x1a\x80" * MANY,
        b"\x0a\xff\x01" + b"k" * 255 + b"\x1a\x04\x08\x00\x1a\x00" * MANY,
        b"\x0a" + varint(MANY) + b"\xff" * MANY + b"\x1a\x04\x08\x00\x1a\x00" * MANY,
        b"\x0a\x01k" + b"\x1a\x00" * MANY,
        b"\x1a\x01\x1a" * MANY,
        b"\x0a\x01k\x12\x01x" + b"\x1a\x06\x08\x00\x10\x00\x1a\x00" * MANY,
        b"\x23" * MANY,
        b"\x23\x24" * MANY,
    ],
    ids=[
        "records",
        "empty-keys",
        "keys",
        "key-size",
        "sizes",
        "unknown",
        "ones",
        "varints",
        "one-long-key",
        "a-huge-key",
        "empty-records",
        "no-records",
        "hash-keys",
        "open-groups",
        "groups",
    ],
)
def test_memory_is_bounded_by_the_aggregate(message: bytes) -> None:
    """Unpacking takes a small multiple of the aggregate's size in memory, whatever sizes it claims."""
    data = aggregate(message)
    assert peak_bytes(lambda: unpack(data)) < 40 * len(data) + 10_000
