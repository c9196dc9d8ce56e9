"""
Unpacks KPL aggregates by scanning their bytes, without protobuf at run time.

An aggregate is the magic number, a protobuf message and the MD5 of that message:

    AggregatedRecord { repeated string partition_key_table = 1;
                       repeated string explicit_hash_key_table = 2;
                       repeated Record records = 3; }
    Record           { required uint64 partition_key_index = 1;
                       optional uint64 explicit_hash_key_index = 2;
                       required bytes data = 3;
                       repeated Tag tags = 4; }

Any other bytes are a plain record as a whole. They never raise an exception, and never yield a part of an aggregate.
A magic number inside the data of a user record has no meaning.

Source: https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

MAGIC = b"\xf3\x89\x9a\xc2"
DIGEST_BYTES = 16
MAX_KEY_CHARS = 256
"""
Kinesis accepts no longer partition key, so no producer writes one. This bounds the size of unpacked aggregates: many
user records may refer to one long key.
"""

_PARTITION_KEY = 0x0A  # field 1, length-delimited
_EXPLICIT_HASH_KEY = 0x12  # field 2, length-delimited
_RECORD = 0x1A  # field 3, length-delimited

_PARTITION_KEY_INDEX = 0x08  # field 1, varint
_EXPLICIT_HASH_KEY_INDEX = 0x10  # field 2, varint
_DATA = 0x1A  # field 3, length-delimited

_MESSAGE_FIELDS = frozenset({_PARTITION_KEY, _EXPLICIT_HASH_KEY, _RECORD})
_RECORD_FIELDS = frozenset({_PARTITION_KEY_INDEX, _EXPLICIT_HASH_KEY_INDEX, _DATA})

_LAST_KNOWN_FIELD = 3
_MAX_FIELD = 2**29 - 1
_VARINT, _FIXED_64, _DELIMITED, _FIXED_32 = 0, 1, 2, 5


class _MalformedError(Exception):
    """The bytes are not a valid message."""


@dataclass(frozen=True, slots=True)
class UserRecords:
    """The user records of one aggregate, as columns of equal length. The index is the sub-sequence number."""

    data: list[bytes]
    partition_keys: list[str]
    explicit_hash_keys: list[str | None]
    """The key of each user record, or None if the producer set no explicit hash key."""


@dataclass(frozen=True, slots=True)
class _Message:
    """An AggregatedRecord as encoded: tables of keys, and user records with indexes into them."""

    partition_key_table: list[str] = field(default_factory=list)
    explicit_hash_key_table: list[str] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    partition_key_indices: list[int] = field(default_factory=list)
    explicit_hash_key_indices: dict[int, int] = field(default_factory=dict)
    """By the index of the user record. Nearly always empty."""


def is_aggregate(data: bytes) -> bool:
    """Return whether *data* begins and ends as an aggregate does: with the magic number, and with the MD5 of what is between."""
    if not data.startswith(MAGIC):
        return False
    message = memoryview(data)[len(MAGIC) : -DIGEST_BYTES]
    return bool(message) and hashlib.md5(message, usedforsecurity=False).digest() == data[-DIGEST_BYTES:]


def unpack(data: bytes) -> UserRecords | None:
    """
    Return the user records in *data*, or None if it is a plain record.

    As in the KCL, an empty message is a plain record, and a message with tables but without records has no user
    records. Unlike the KCL, user records that belong to another shard are returned.

    Time and memory are bounded by the size of *data*: sizes and counts found in it reserve nothing.
    """
    if not is_aggregate(data):
        return None
    try:
        return _look_up_keys(_scan(data[len(MAGIC) : -DIGEST_BYTES]))
    except (_MalformedError, IndexError, UnicodeDecodeError):
        # IndexError: a table index beyond its table, or a message that ends inside a field.
        return None


def _look_up_keys(message: _Message) -> UserRecords:
    """Replace indexes by keys. This comes last, because a table may follow the records that refer to it."""
    hash_keys: list[str | None] = [None] * len(message.data)
    for record, index in message.explicit_hash_key_indices.items():
        hash_keys[record] = message.explicit_hash_key_table[index]
    keys = message.partition_key_table
    return UserRecords(message.data, [keys[index] for index in message.partition_key_indices], hash_keys)


def _scan(body: bytes) -> _Message:
    """Read the outer message. Each of its known fields has a tag of one byte, followed by a length."""
    message = _Message()
    offset, end = _scan_usual_records(body, 0, message), len(body)
    while offset < end:
        tag, size, start = body[offset], body[offset + 1], offset + 2
        if size > 0x7F and tag in _MESSAGE_FIELDS:
            size, start = _read_longer_varint(body, size, start)
        stop = start + size
        if tag == _RECORD:
            if stop > end:
                raise _MalformedError
            _scan_record(body, start, stop, message)
            stop = _scan_usual_records(body, stop, message)
        elif tag == _PARTITION_KEY:
            message.partition_key_table.append(_read_key(body, start, stop))
        elif tag == _EXPLICIT_HASH_KEY:
            message.explicit_hash_key_table.append(_read_key(body, start, stop))
        else:
            stop = _skip_unknown_field(body, offset)
        offset = stop
    if offset != end:
        raise _MalformedError
    return message


def _scan_usual_records(body: bytes, offset: int, message: _Message) -> int:
    """
    Read user records of the usual form, an index of a partition key followed by data, until another form or field.

    Returns the offset of that record or field. This is the inner loop of unpacking: it takes half the time of a call
    for each record with a loop over its fields.
    """
    add_data, add_index, end = message.data.append, message.partition_key_indices.append, len(body)
    while offset < end and body[offset] == _RECORD:
        size, start = body[offset + 1], offset + 2
        if size > 0x7F:
            size, start = _read_longer_varint(body, size, start)
        stop = start + size
        if stop > end or body[start] != _PARTITION_KEY_INDEX:
            return offset
        index, start = body[start + 1], start + 2
        if index > 0x7F:
            index, start = _read_longer_varint(body, index, start)
        if body[start] != _DATA:
            return offset
        size, start = body[start + 1], start + 2
        if size > 0x7F:
            size, start = _read_longer_varint(body, size, start)
        if start + size != stop:
            return offset
        add_data(body[start:stop])
        add_index(index)
        offset = stop
    return offset


def _scan_record(body: bytes, offset: int, stop: int, message: _Message) -> None:
    """Read one user record. Of a repeated field, the last value counts."""
    key_index = hash_key_index = data = None
    while offset < stop:
        tag, value, start = body[offset], body[offset + 1], offset + 2
        if value > 0x7F and tag in _RECORD_FIELDS:
            value, start = _read_longer_varint(body, value, start)
        if tag == _PARTITION_KEY_INDEX:
            key_index, offset = value, start
        elif tag == _DATA:
            offset = start + value
            data = body[start:offset]
        elif tag == _EXPLICIT_HASH_KEY_INDEX:
            hash_key_index, offset = value, start
        else:
            offset = _skip_unknown_field(body, offset)
    if offset != stop or key_index is None or data is None:
        raise _MalformedError
    if hash_key_index is not None:
        message.explicit_hash_key_indices[len(message.data)] = hash_key_index
    message.data.append(data)
    message.partition_key_indices.append(key_index)


def _read_key(body: bytes, start: int, stop: int) -> str:
    """Return the text from *start* to *stop*. The caller checks that *stop* is not beyond the end."""
    key = body[start:stop].decode("utf-8")
    if len(key) > MAX_KEY_CHARS:
        raise _MalformedError
    return key


def _read_longer_varint(body: bytes, low: int, offset: int) -> tuple[int, int]:
    """
    Read the rest of a number after its first byte, *low*, at *offset*.

    Two bytes hold the size of most user records. There may be more.
    """
    high = body[offset]
    if high < 0x80:
        return low & 0x7F | high << 7, offset + 1
    return _read_varint(body, offset - 1)


def _read_varint(body: bytes, offset: int) -> tuple[int, int]:
    """Return the number at *offset*, of 64 bits at most, and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = body[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, offset
    raise _MalformedError


def _skip_unknown_field(body: bytes, offset: int) -> int:
    """
    Return the offset after the field at *offset*, according to its wire type.

    A known field gets here only with a wrong wire type or an overlong tag, and no producer writes the deprecated
    groups: both are malformed.
    """
    tag, offset = _read_varint(body, offset)
    number, wire_type = tag >> 3, tag & 0b111
    if not _LAST_KNOWN_FIELD < number <= _MAX_FIELD:
        raise _MalformedError
    if wire_type == _VARINT:
        return _read_varint(body, offset)[1]
    if wire_type == _DELIMITED:
        size, offset = _read_varint(body, offset)
        return offset + size
    if wire_type == _FIXED_64:
        return offset + 8
    if wire_type == _FIXED_32:
        return offset + 4
    raise _MalformedError
