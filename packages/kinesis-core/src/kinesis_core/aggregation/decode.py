"""
KPL aggregates, unpacked by a scan of their bytes: no protobuf at run time.

An aggregate is the magic number, a protobuf message and the MD5 of that message:

    AggregatedRecord { repeated string partition_key_table = 1;
                       repeated string explicit_hash_key_table = 2;
                       repeated Record records = 3; }
    Record           { required uint64 partition_key_index = 1;
                       optional uint64 explicit_hash_key_index = 2;
                       required bytes data = 3;
                       repeated Tag tags = 4; }

Bytes that are not exactly this are a plain record, as a whole: never an exception, never a part of an
aggregate. A magic number inside a user record's data means nothing.

Source: https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

MAGIC = b"\xf3\x89\x9a\xc2"
DIGEST_BYTES = 16
MAX_KEY_CHARS = 256
"""
Kinesis takes no longer partition key, so no producer writes one. It bounds what an aggregate can grow to:
many user records may point to one long key.
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
    """These bytes are not the message they should be."""


@dataclass(frozen=True, slots=True)
class UserRecords:
    """The user records of one aggregate, as columns of equal length; the sub-sequence number is the index."""

    data: list[bytes]
    partition_keys: list[str]
    explicit_hash_keys: list[str | None]
    """Each user record's own; None where the producer gave none."""


@dataclass(frozen=True, slots=True)
class _Message:
    """An AggregatedRecord as it stands on the wire: tables, and user records that point into them."""

    partition_key_table: list[str] = field(default_factory=list)
    explicit_hash_key_table: list[str] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    partition_key_indices: list[int] = field(default_factory=list)
    explicit_hash_key_indices: dict[int, int] = field(default_factory=dict)
    """By the place of the user record; nearly always there are none."""


def unpack(data: bytes) -> UserRecords | None:
    """
    Return the user records in *data*, or None if it is a plain record.

    Like the KCL, a message of no bytes is a plain record, and one with tables but without records holds
    no user records. Unlike the KCL, a user record that belongs to another shard is delivered.

    Time and memory are bounded by the size of *data*: nothing is reserved by a count found in it.
    """
    if not data.startswith(MAGIC):
        return None
    message, digest = data[len(MAGIC) : -DIGEST_BYTES], data[-DIGEST_BYTES:]
    if not message or hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        return _look_up_keys(_scan(message))
    except (_MalformedError, IndexError, UnicodeDecodeError):
        # IndexError: a table index beyond its table, or a message that ends inside a field.
        return None


def _look_up_keys(message: _Message) -> UserRecords:
    """Replace indices by keys: only now, for a table may come after the records that point into it."""
    hash_keys: list[str | None] = [None] * len(message.data)
    for place, index in message.explicit_hash_key_indices.items():
        hash_keys[place] = message.explicit_hash_key_table[index]
    keys = message.partition_key_table
    return UserRecords(message.data, [keys[index] for index in message.partition_key_indices], hash_keys)


def _scan(body: bytes) -> _Message:
    """Read the outer message: every field of it that we know has a tag of one byte and then a length."""
    message = _Message()
    position, end = _scan_usual_records(body, 0, message), len(body)
    while position < end:
        tag, size, start = body[position], body[position + 1], position + 2
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
            stop = _skip_unknown_field(body, position)
        position = stop
    if position != end:
        raise _MalformedError
    return message


def _scan_usual_records(body: bytes, position: int, message: _Message) -> int:
    """
    Read user records as nearly all are, each a partition key's index and then data, up to one that is not so.

    Returns where that one, or another field, begins. This is the inner loop of unpacking: it takes half the time of a
    call for each record and a loop over its fields.
    """
    add_data, add_index, end = message.data.append, message.partition_key_indices.append, len(body)
    while position < end and body[position] == _RECORD:
        size, start = body[position + 1], position + 2
        if size > 0x7F:
            size, start = _read_longer_varint(body, size, start)
        stop = start + size
        if stop > end or body[start] != _PARTITION_KEY_INDEX:
            return position
        index, start = body[start + 1], start + 2
        if index > 0x7F:
            index, start = _read_longer_varint(body, index, start)
        if body[start] != _DATA:
            return position
        size, start = body[start + 1], start + 2
        if size > 0x7F:
            size, start = _read_longer_varint(body, size, start)
        if start + size != stop:
            return position
        add_data(body[start:stop])
        add_index(index)
        position = stop
    return position


def _scan_record(body: bytes, position: int, stop: int, message: _Message) -> None:
    """Read one user record; a field that comes twice counts as it came last."""
    key_index = hash_key_index = data = None
    while position < stop:
        tag, value, start = body[position], body[position + 1], position + 2
        if value > 0x7F and tag in _RECORD_FIELDS:
            value, start = _read_longer_varint(body, value, start)
        if tag == _PARTITION_KEY_INDEX:
            key_index, position = value, start
        elif tag == _DATA:
            position = start + value
            data = body[start:position]
        elif tag == _EXPLICIT_HASH_KEY_INDEX:
            hash_key_index, position = value, start
        else:
            position = _skip_unknown_field(body, position)
    if position != stop or key_index is None or data is None:
        raise _MalformedError
    if hash_key_index is not None:
        message.explicit_hash_key_indices[len(message.data)] = hash_key_index
    message.data.append(data)
    message.partition_key_indices.append(key_index)


def _read_key(body: bytes, start: int, stop: int) -> str:
    """Return the text between *start* and *stop*; the caller notices a *stop* beyond the end."""
    key = body[start:stop].decode("utf-8")
    if len(key) > MAX_KEY_CHARS:
        raise _MalformedError
    return key


def _read_longer_varint(body: bytes, low: int, position: int) -> tuple[int, int]:
    """Go on behind the first byte, *low*. Two bytes hold the size of most user records; there can be more."""
    high = body[position]
    if high < 0x80:
        return low & 0x7F | high << 7, position + 1
    return _read_varint(body, position - 1)


def _read_varint(body: bytes, position: int) -> tuple[int, int]:
    """Return the number at *position*, at most 64 bits of it, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, position
    raise _MalformedError


def _skip_unknown_field(body: bytes, position: int) -> int:
    """
    Return where the field at *position* ends, going by its wire type.

    A known field gets here only with a wire type that is not its own or a tag longer than needed, and no
    producer writes the deprecated groups: both are malformed.
    """
    tag, position = _read_varint(body, position)
    number, wire_type = tag >> 3, tag & 0b111
    if not _LAST_KNOWN_FIELD < number <= _MAX_FIELD:
        raise _MalformedError
    if wire_type == _VARINT:
        return _read_varint(body, position)[1]
    if wire_type == _DELIMITED:
        size, position = _read_varint(body, position)
        return position + size
    if wire_type == _FIXED_64:
        return position + 8
    if wire_type == _FIXED_32:
        return position + 4
    raise _MalformedError
