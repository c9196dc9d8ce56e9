from __future__ import annotations

import hashlib
import sys
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from kinesis_core.aggregation import MAGIC, UserRecords, unpack

keys = st.text(st.characters(codec="utf-8"), max_size=20)
hash_keys = st.none() | st.integers(0, 2**128 - 1).map(str)
payloads = st.binary(max_size=300)
user_records = st.lists(st.tuples(payloads, keys, hash_keys), max_size=200)


def varint(value: int) -> bytes:
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


def delimited(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


# Bytes like a message: mostly known fields, some with a wrong type, an unknown number or random bytes.
numbers = st.sampled_from([1, 1, 2, 2, 3, 3, 4, 5, 100])
values = st.integers(0, 2) | st.sampled_from([127, 128, 2**32, 2**64 - 1, 2**64])
scalars = st.builds(lambda number, value: varint(number << 3) + varint(value), numbers, values)
fixed = st.builds(
    lambda number, value: varint(number << 3 | 1) + value, numbers, st.binary(min_size=8, max_size=8)
)
texts = st.builds(delimited, numbers, st.binary(max_size=5))
indices = st.builds(
    lambda number, value: varint(number << 3) + varint(value), st.integers(1, 2), st.integers(0, 2)
)
record_fields = indices | indices | texts | scalars | fixed
records = st.lists(record_fields, max_size=6).map(b"".join).map(lambda content: delimited(3, content))
good_records = st.integers(0, 2).map(lambda index: delimited(3, b"\x08" + varint(index) + b"\x1a\x01x"))
junk = st.binary(max_size=2)
wire_messages = st.lists(texts | records | good_records | scalars | fixed | junk, max_size=10).map(b"".join)


@pytest.fixture(scope="module")
def messages() -> Any:
    """The protobuf classes of aws_kinesis_agg. Importing it changes sys.path."""
    path = list(sys.path)
    from aws_kinesis_agg import aggregator

    sys.path[:] = path
    return aggregator.messages_pb2


@pytest.fixture(scope="module")
def reader(messages: Any) -> Any:
    """The AggregatedRecord of *messages* without its tags, which become an unknown field that is skipped."""
    file = FileDescriptorProto(name="aggregate.proto", package="aggregate")
    messages.Record.DESCRIPTOR.CopyToProto(file.message_type.add())
    messages.AggregatedRecord.DESCRIPTOR.CopyToProto(file.message_type.add())
    record, aggregate = file.message_type
    del record.field[3]
    aggregate.field[2].type_name = ".aggregate.Record"
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("aggregate.AggregatedRecord"))


def seal(message: bytes) -> bytes:
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


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


def decode(reader: Any, message: bytes) -> UserRecords | None:
    """
    Return what Google's protobuf reads in *message*, or None if it refuses the message or an index is out of range.
    """
    aggregate = reader()
    try:
        aggregate.ParseFromString(message)
        keys, hash_keys = aggregate.partition_key_table, aggregate.explicit_hash_key_table
        return UserRecords(
            [record.data for record in aggregate.records],
            [keys[record.partition_key_index] for record in aggregate.records],
            [
                hash_keys[record.explicit_hash_key_index]
                if record.HasField("explicit_hash_key_index")
                else None
                for record in aggregate.records
            ],
        )
    except (DecodeError, IndexError, UnicodeDecodeError):
        return None


@settings(deadline=None)
@given(rows=user_records, tagged=st.booleans())
def test_what_protobuf_wrote_comes_back(
    messages: Any, rows: list[tuple[bytes, str, str | None]], tagged: bool
) -> None:
    """Every user record comes back in order, with its data, partition key and explicit hash key."""
    message = encode(messages, rows, tagged)
    expected = UserRecords([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    assert unpack(seal(message)) == (expected if message else None)


@settings(deadline=None)
@given(rows=user_records, data=st.data())
def test_damage_makes_a_plain_record(
    messages: Any, rows: list[tuple[bytes, str, str | None]], data: st.DataObject
) -> None:
    """An aggregate with one changed byte, or cut at any offset, is a plain record."""
    aggregate = seal(encode(messages, rows))
    index = data.draw(st.integers(0, len(aggregate) - 1))
    changed = data.draw(st.integers(1, 255)) ^ aggregate[index]
    assert unpack(aggregate[:index] + bytes([changed]) + aggregate[index + 1 :]) is None
    assert unpack(aggregate[:index]) is None


@settings(deadline=None)
@given(rows=user_records, data=st.data())
def test_a_damaged_message_is_read_as_protobuf_reads_it_or_not_at_all(
    messages: Any, reader: Any, rows: list[tuple[bytes, str, str | None]], data: st.DataObject
) -> None:
    """A damaged message with a valid MD5 is a plain record, or is read as protobuf reads it: never in part."""
    message = bytearray(encode(messages, rows) or b"\x0a\x00")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(message)))
        stop = data.draw(st.integers(start, min(len(message), start + 8)))
        message[start:stop] = data.draw(st.binary(max_size=8))
    ours = unpack(seal(bytes(message)))
    assert ours is None or ours == decode(reader, bytes(message))


@settings(deadline=None)
@given(message=wire_messages)
def test_anything_like_a_message_is_read_as_protobuf_reads_it_or_not_at_all(
    reader: Any, message: bytes
) -> None:
    """Any mixture of valid and invalid fields never raises, and yields nothing that protobuf does not read."""
    ours = unpack(seal(message))
    assert ours is None or ours == decode(reader, message)


@settings(deadline=None)
@given(data=st.binary(max_size=64))
def test_any_bytes_are_taken(data: bytes) -> None:
    """Arbitrary bytes, with or without a magic number, are plain records and never raise."""
    assert unpack(data) is None
    assert unpack(MAGIC + data) is None
