from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given, settings, strategies as st

from kinesis_core.aggregation import MAGIC, UserRecords, unpack
from support.aggregates import sealed
from support.hostile import mutated, peak_bytes
from support.vectors import varint

keys = st.text(st.characters(codec="utf-8"), max_size=20)
hash_keys = st.none() | st.integers(0, 2**128 - 1).map(str)
payloads = st.binary(max_size=300)
user_records = st.lists(st.tuples(payloads, keys, hash_keys), max_size=200)


def delimited(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


# Bytes like a message: mostly known fields, some with a wrong type, an unknown number, groups or random bytes.
numbers = st.sampled_from([1, 1, 2, 2, 3, 3, 4, 5, 100])
values = st.integers(0, 2) | st.sampled_from([127, 128, 2**32, 2**64 - 1, 2**64])
scalars = st.builds(lambda number, value: varint(number << 3) + varint(value), numbers, values)
fixed = st.builds(
    lambda number, value: varint(number << 3 | 1) + value, numbers, st.binary(min_size=8, max_size=8)
)
hash_key_texts = st.sampled_from([0, 7, 2**128 - 1, 2**128]).map(lambda number: b"%d" % number) | st.just(
    b"07"
)
texts = st.builds(delimited, numbers, st.binary(max_size=5)) | st.builds(
    delimited, st.just(2), hash_key_texts
)
indices = st.builds(
    lambda number, value: varint(number << 3) + varint(value), st.integers(1, 2), st.integers(0, 2)
)
groups = st.builds(
    lambda number, inside: varint(number << 3 | 3) + inside + varint(number << 3 | 4),
    numbers,
    texts | scalars | fixed,
)
record_fields = indices | indices | texts | scalars | fixed | groups
records = st.lists(record_fields, max_size=6).map(b"".join).map(lambda content: delimited(3, content))
good_records = st.integers(0, 2).map(lambda index: delimited(3, b"\x08" + varint(index) + b"\x1a\x01x"))
junk = st.binary(max_size=2)
wire_messages = st.lists(texts | records | good_records | scalars | fixed | groups | junk, max_size=10).map(
    b"".join
)
# A message with keys, explicit hash keys and tags, and what sizes and indexes no message has.
KEYS = b"\x0a\x01a\x0a\x02bc" + b"\x12\x011"
GOOD = KEYS + b"\x1a\x07\x08\x01\x10\x00\x1a\x01x" + b"\x1a\x0b\x08\x00\x1a\x01y\x22\x04\x0a\x02tt"
huge_numbers = st.sampled_from([0, 1, 2, 127, 128, 2**31, 2**32, 2**63, 2**64 - 1, 2**64, 2**69, 2**700])
odd_records = st.builds(
    lambda key, hash_key, size: (
        b"\x08" + varint(key) + b"\x10" + varint(hash_key) + b"\x1a" + varint(size) + b"x"
    ),
    huge_numbers,
    huge_numbers,
    huge_numbers,
)
out_of_range = st.builds(
    lambda content, size: KEYS + b"\x1a" + varint(size or len(content)) + content, odd_records, huge_numbers
)
hostile_messages = st.one_of(
    st.binary(max_size=200),
    mutated(GOOD),
    out_of_range,
    st.builds(lambda tag, size: GOOD + bytes([tag]) + varint(size), st.integers(0, 255), huge_numbers),
)


@pytest.fixture(scope="module")
def messages() -> Any:
    """The protobuf classes of aws_kinesis_agg. Importing it changes sys.path."""
    path = list(sys.path)
    from aws_kinesis_agg import aggregator

    sys.path[:] = path
    return aggregator.messages_pb2


@define
class Oracle:
    """Google's protobuf. Keys and user records are bytes in its messages, so that each is judged alone."""

    message: Any
    record: Any

    @classmethod
    def create(cls, messages: Any) -> Oracle:
        file = FileDescriptorProto(name="aggregate.proto", package="aggregate")
        messages.Record.DESCRIPTOR.CopyToProto(file.message_type.add())
        messages.AggregatedRecord.DESCRIPTOR.CopyToProto(file.message_type.add())
        record, aggregate = file.message_type
        del record.field[3]  # tags, which become an unknown field
        for field in record.field:
            field.label = field.LABEL_OPTIONAL
        for field in aggregate.field:
            field.type = field.TYPE_BYTES
            field.ClearField("type_name")
        pool = DescriptorPool()
        pool.Add(file)
        names = ("aggregate.AggregatedRecord", "aggregate.Record")
        return cls(*(GetMessageClass(pool.FindMessageTypeByName(name)) for name in names))

    def unpack(self, encoded: bytes) -> UserRecords | None:
        """Return the user records of a message, or None if protobuf refuses it."""
        aggregate = self.message()
        try:
            aggregate.ParseFromString(encoded)
        except DecodeError:
            return None
        rows = [self._row(aggregate, content) for content in aggregate.records]
        undecoded = sum(is_undecoded for *_, is_undecoded in rows)
        return UserRecords(
            [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], undecoded
        )

    def _row(self, aggregate: Any, content: bytes) -> tuple[bytes, str | None, str | None, bool]:
        record = self.record()
        try:
            record.ParseFromString(content)
        except DecodeError:
            return content, None, None, True
        unknown = UnknownFieldSet(record)
        if any(
            unknown[index].field_number <= 3 for index in range(len(unknown))
        ):  # a known field of another type
            return content, None, None, True
        key = _at(aggregate.partition_key_table, record.partition_key_index)
        has_hash_key = record.HasField("explicit_hash_key_index")
        hash_key = (
            _at(aggregate.explicit_hash_key_table, record.explicit_hash_key_index) if has_hash_key else None
        )
        if hash_key is not None and not _is_hash_key(hash_key):
            hash_key = None
        return record.data, key, hash_key, key is None or (has_hash_key and hash_key is None)


def _at(table: Sequence[bytes], index: int) -> str | None:
    return str(table[index], "utf-8", "replace") if index < len(table) else None


def _is_hash_key(text: str) -> bool:
    return text.isdecimal() and str(int(text)) == text and int(text) < 2**128


@pytest.fixture(scope="module")
def oracle(messages: Any) -> Oracle:
    return Oracle.create(messages)


def encode(messages: Any, rows: list[tuple[bytes, str, str | None]], tagged: bool = False) -> bytes:
    """Return an AggregatedRecord as Google's protobuf writes it."""
    aggregate = messages.AggregatedRecord()
    aggregate.partition_key_table.extend(sorted({key for _, key, _ in rows}))
    aggregate.explicit_hash_key_table.extend(sorted({key for _, _, key in rows if key is not None}))
    key_indices = {key: index for index, key in enumerate(aggregate.partition_key_table)}
    hash_key_indices = {key: index for index, key in enumerate(aggregate.explicit_hash_key_table)}
    for data, key, hash_key in rows:
        record = aggregate.records.add(data=data, partition_key_index=key_indices[key])
        if hash_key is not None:
            record.explicit_hash_key_index = hash_key_indices[hash_key]
        if tagged:
            record.tags.add(key="name", value="value")
    message: bytes = aggregate.SerializeToString()
    return message


@settings(deadline=None)
@given(rows=user_records, tagged=st.booleans())
def test_what_protobuf_wrote_comes_back(
    messages: Any, rows: list[tuple[bytes, str, str | None]], tagged: bool
) -> None:
    """Every user record comes back in order, with its data, partition key and explicit hash key."""
    message = encode(messages, rows, tagged)
    expected = UserRecords([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    assert unpack(sealed(message)) == (expected if message else None)


@settings(deadline=None)
@given(rows=user_records, data=st.data())
def test_damage_makes_a_plain_record(
    messages: Any, rows: list[tuple[bytes, str, str | None]], data: st.DataObject
) -> None:
    """An aggregate with one changed byte, or cut at any offset, is a plain record."""
    aggregate = sealed(encode(messages, rows))
    index = data.draw(st.integers(0, len(aggregate) - 1))
    changed = data.draw(st.integers(1, 255)) ^ aggregate[index]
    assert unpack(aggregate[:index] + bytes([changed]) + aggregate[index + 1 :]) is None
    assert unpack(aggregate[:index]) is None


@settings(deadline=None)
@given(rows=user_records, data=st.data())
def test_a_damaged_message_is_read_as_protobuf_reads_it(
    messages: Any, oracle: Oracle, rows: list[tuple[bytes, str, str | None]], data: st.DataObject
) -> None:
    """
    A damaged message with a valid MD5 is read as protobuf reads it, each user record for itself. What protobuf refuses is left
    whole: a user record, or the aggregate.
    """
    message = bytearray(encode(messages, rows) or b"\x0a\x00")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(message)))
        stop = data.draw(st.integers(start, min(len(message), start + 8)))
        message[start:stop] = data.draw(st.binary(max_size=8))
    assert unpack(sealed(bytes(message))) == (oracle.unpack(bytes(message)) if message else None)


@settings(deadline=None)
@given(message=wire_messages)
def test_anything_like_a_message_is_read_as_protobuf_reads_it(oracle: Oracle, message: bytes) -> None:
    """Any mixture of valid and invalid fields never raises, and yields what protobuf reads."""
    assert unpack(sealed(message)) == (oracle.unpack(message) if message else None)


@settings(deadline=None)
@given(message=hostile_messages)
def test_anything_after_the_magic_is_whole_or_plain(message: bytes) -> None:
    """
    Any message yields columns of one length or a plain record, and never an error. Python's protobuf is no oracle here: it refuses
    lengths written in more than five bytes, which Java's and ours read.
    """
    found = unpack(sealed(message))
    if found is not None:
        assert len(found.data) == len(found.partition_keys) == len(found.explicit_hash_keys)
        assert sum(map(len, found.data)) <= len(message)


@settings(deadline=None)
@given(data=st.binary(max_size=64))
def test_any_bytes_are_taken(data: bytes) -> None:
    """Arbitrary bytes, with or without a magic number, are plain records and never raise."""
    assert unpack(data) is None
    assert unpack(MAGIC + data) is None


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
    data = sealed(message)
    assert peak_bytes(lambda: unpack(data)) < 40 * len(data) + 10_000
