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

A message with the right MD5 is what its producer meant, so as much of it as possible is unpacked:

* Every encoding that protobuf allows is read. A key that is not UTF-8 gets U+FFFD, as in the KCL, and may be of any length.
* A field that is left out has protobuf's default: the index 0, or no data. Writers of protobuf's version 3 leave these out.
* An index beyond its table stands for no key, and so does an explicit hash key that Kinesis would refuse.
* A user record that is not a message is kept as it is, without keys. It counts, so the others keep their sub-sequence numbers.

Any other bytes are a plain record as a whole. They never raise an exception. A magic number inside the data of a user
record has no meaning.

Source: https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

_DECIMAL = re.compile("0|[1-9][0-9]{0,38}")
_MAX = str(2**128 - 1)


def is_hash_key(text: str) -> bool:
    """
    Return whether Kinesis accepts *text* as an explicit hash key: a decimal number from 0 to 2^128-1.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsRequestEntry.html
    """
    return _DECIMAL.fullmatch(text) is not None and (len(text) < len(_MAX) or text <= _MAX)


MAGIC = b"\xf3\x89\x9a\xc2"
DIGEST_BYTES = 16
MAX_KEY_GROWTH = 200
"""
The maximum size of all partition keys of an aggregate, as a multiple of its own size. Many user records may refer to one long
key. So a page of 10 MiB stays below the 2 GiB of a column in Arrow. Aggregates whose keys Kinesis would accept are far below.
"""

_PARTITION_KEY = 0x0A  # field 1, length-delimited
_EXPLICIT_HASH_KEY = 0x12  # field 2, length-delimited
_RECORD = 0x1A  # field 3, length-delimited

_PARTITION_KEY_INDEX = 0x08  # field 1, varint
_EXPLICIT_HASH_KEY_INDEX = 0x10  # field 2, varint
_DATA = 0x1A  # field 3, length-delimited
_LAST_FIELD = 3

_KEYS = frozenset({_PARTITION_KEY, _EXPLICIT_HASH_KEY})
_MAX_FIELD = 2**29 - 1
_VARINT, _FIXED_64, _DELIMITED, _GROUP, _GROUP_END, _FIXED_32 = range(6)
_FIXED_BYTES = {_FIXED_64: 8, _FIXED_32: 4}
_LAST_NUMBER = 2**64 - 1
_NOWHERE = 2**64
"""An index beyond any table."""
_MOST_BYTES_A_CHAR = 4


class _MalformedError(Exception):
    """The bytes are not a valid message."""


_DAMAGE = (_MalformedError, IndexError)
"""IndexError: the message ends inside a field."""


@dataclass(frozen=True, slots=True)
class UserRecords:
    """The user records of one aggregate, as columns of equal length. The index is the sub-sequence number."""

    data: list[bytes]
    partition_keys: list[str | None]
    """The key of each user record, or None if the aggregate has none for it. It may be empty, or longer than Kinesis accepts."""
    explicit_hash_keys: list[str | None]
    """The key of each user record, or None if the producer set no valid explicit hash key."""
    undecoded: int = 0
    """How many user records are kept as they are, or lack a key that they refer to."""


@dataclass(frozen=True, slots=True)
class _Message:
    """An AggregatedRecord as encoded: tables of keys, and user records with indexes into them."""

    partition_key_table: list[str] = field(default_factory=list)
    explicit_hash_key_table: list[str | None] = field(default_factory=list)
    """None for keys that Kinesis would refuse."""
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

    Returns None, and leaves the aggregate whole, if its message is damaged outside of user records. The same holds if its keys
    would take too much memory: see `MAX_KEY_GROWTH`. Time and memory are bounded by the size of *data*: sizes and counts found in
    it reserve nothing.
    """
    if not is_aggregate(data):
        return None
    try:
        # The MD5 after the message lets the scan look some bytes past its end.
        return _look_up_keys(_scan(data, len(MAGIC), len(data) - DIGEST_BYTES), len(data))
    except _DAMAGE:
        return None


def count_user_records(data: bytes) -> int:
    """Return how many user records a record with *data* is. A plain record is one."""
    found = unpack(data)
    return 1 if found is None else len(found.data)


def _look_up_keys(message: _Message, size_bytes: int) -> UserRecords:
    """Replace indexes by keys. This comes last, because a table may follow the records that refer to it."""
    hash_keys: list[str | None] = [None] * len(message.data)
    for record, index in message.explicit_hash_key_indices.items():
        hash_keys[record] = _key_at(message.explicit_hash_key_table, index)
    table, indices = message.partition_key_table, message.partition_key_indices
    try:
        keys: list[str | None] = [table[index] for index in indices]
    except IndexError:
        keys = [_key_at(table, index) for index in indices]
    longest = max(map(len, table), default=0)
    if longest * _MOST_BYTES_A_CHAR * len(keys) > size_bytes * MAX_KEY_GROWTH:
        _check_growth(keys, size_bytes)
    without = {record for record in message.explicit_hash_key_indices if hash_keys[record] is None}
    if None in keys:
        without.update(record for record, key in enumerate(keys) if key is None)
    return UserRecords(message.data, keys, hash_keys, len(without))


def _key_at(table: Sequence[str | None], index: int) -> str | None:
    return table[index] if index < len(table) else None


def _check_growth(keys: Sequence[str | None], size_bytes: int) -> None:
    counts = Counter(filter(None, keys))
    if sum(len(key.encode()) * count for key, count in counts.items()) > size_bytes * MAX_KEY_GROWTH:
        raise _MalformedError


def _scan(data: bytes, offset: int, end: int) -> _Message:
    """Read the message from *offset* to *end*."""
    message = _Message()
    add_key, add_hash_key = message.partition_key_table.append, message.explicit_hash_key_table.append
    while offset < end:
        if data[offset] == _RECORD:
            offset = _scan_usual_records(data, offset, end, message)
            if offset == end:
                break
        tag, start, stop = data[offset], offset + 2, offset + 2 + data[offset + 1]
        if stop - start > 0x7F or tag not in _KEYS:  # most keys are short
            tag, start, stop = _read_field(data, offset)
        if stop > end:
            raise _MalformedError
        if tag == _PARTITION_KEY:
            add_key(data[start:stop].decode("utf-8", "replace"))
        elif tag == _EXPLICIT_HASH_KEY:
            key = data[start:stop].decode("utf-8", "replace")
            add_hash_key(key if is_hash_key(key) else None)
        elif tag == _RECORD:
            _add_record(data, start, stop, message)
        offset = stop
    return message


def _scan_usual_records(data: bytes, offset: int, end: int, message: _Message) -> int:  # noqa: C901 # calls take longer
    """
    Read user records of the usual form, in which fields are in their order and no other ones, until another form or field.

    Returns the offset of that record or field, or one beyond *end* if the last record reaches beyond it. This is the inner
    loop of unpacking: it takes half the time of a call for each record with a loop over its fields.
    """
    add_data, add_index = message.data.append, message.partition_key_indices.append
    hash_key_indices, hash_key_index = message.explicit_hash_key_indices, None
    try:
        while offset < end and data[offset] == _RECORD:
            size, start = data[offset + 1], offset + 2
            if size > 0x7F:
                size, start = _read_longer_varint(data, size, start)
            stop = start + size
            if data[start] != _PARTITION_KEY_INDEX:
                break
            index, start = data[start + 1], start + 2
            if index > 0x7F:
                index, start = _read_longer_varint(data, index, start)
            if data[start] == _EXPLICIT_HASH_KEY_INDEX:
                hash_key_index, start = data[start + 1], start + 2
                if hash_key_index > 0x7F:
                    hash_key_index, start = _read_longer_varint(data, hash_key_index, start)
            if data[start] != _DATA:
                break
            size, start = data[start + 1], start + 2
            if size > 0x7F:
                size, start = _read_longer_varint(data, size, start)
            if start + size != stop:
                break
            if hash_key_index is not None:
                hash_key_indices[len(message.data)], hash_key_index = hash_key_index, None
            add_data(data[start:stop])
            add_index(index)
            offset = stop
    except _DAMAGE:
        pass  # `_add_record` reads this record again, field by field
    return offset


def _add_record(data: bytes, start: int, end: int, message: _Message) -> None:
    """Read one user record, or keep it as it is."""
    try:
        payload, key_index, hash_key_index = _scan_record(data, start, end)
    except _DAMAGE:
        payload, key_index, hash_key_index = data[start:end], _NOWHERE, None
    if hash_key_index is not None:
        message.explicit_hash_key_indices[len(message.data)] = hash_key_index
    message.data.append(payload)
    message.partition_key_indices.append(key_index)


def _scan_record(data: bytes, offset: int, end: int) -> tuple[bytes, int, int | None]:
    """Return the data of one user record, and the indexes of its keys. Of a repeated field, the last value counts."""
    payload, key_index, hash_key_index = b"", 0, None
    while offset < end:
        tag, start, offset = _read_field(data, offset)
        if tag == _PARTITION_KEY_INDEX:
            key_index, _ = _read_varint(data, start)
        elif tag == _EXPLICIT_HASH_KEY_INDEX:
            hash_key_index, _ = _read_varint(data, start)
        elif tag == _DATA:
            payload = data[start:offset]
        elif tag >> 3 <= _LAST_FIELD:  # of another type
            raise _MalformedError
    if offset != end:
        raise _MalformedError
    return payload, key_index, hash_key_index


def _read_longer_varint(data: bytes, low: int, offset: int) -> tuple[int, int]:
    """
    Read the rest of a number after its first byte, *low*, at *offset*.

    Two bytes hold the size of most user records. There may be more.
    """
    high = data[offset]
    if high < 0x80:
        return low & 0x7F | high << 7, offset + 1
    return _read_varint(data, offset - 1)


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number at *offset*, and the offset after it. As in protobuf, bits after the 64th are dropped."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _LAST_NUMBER, offset
    raise _MalformedError


def _read_field(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return the tag of the field at *offset*, and where its value begins and ends. The caller checks that it is not beyond."""
    tag, start = _read_varint(data, offset)
    number, wire_type = tag >> 3, tag & 0b111
    if not 0 < number <= _MAX_FIELD:
        raise _MalformedError
    if wire_type == _DELIMITED:
        size, start = _read_varint(data, start)
        return tag, start, start + size
    if wire_type == _VARINT:
        return tag, start, _read_varint(data, start)[1]
    if wire_type == _GROUP:
        return tag, start, _skip_group(data, start, number)
    if wire_type in _FIXED_BYTES:
        return tag, start, start + _FIXED_BYTES[wire_type]
    raise _MalformedError


def _skip_group(data: bytes, offset: int, number: int) -> int:
    """Return the offset after the end of the group with this field *number*. Groups are deprecated, and hold fields."""
    opened = [number]
    while opened:
        tag, start = _read_varint(data, offset)
        if tag & 0b111 == _GROUP:
            opened.append(tag >> 3)
        elif tag & 0b111 != _GROUP_END:
            _, _, start = _read_field(data, offset)
        elif opened.pop() != tag >> 3:
            raise _MalformedError
        offset = start
    return offset
