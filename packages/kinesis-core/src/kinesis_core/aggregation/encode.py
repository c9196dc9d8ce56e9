"""
Writes KPL aggregates without protobuf at run time. `kinesis_core.aggregation.decode` shows the format.

The caller decides which user records share an aggregate: they must all belong to one shard. Data that is an aggregate itself
fits into no aggregate: a reader unpacks once, and would return it as data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kinesis_core.aggregation.decode import DIGEST_BYTES, MAGIC, is_aggregate

_FRAME_BYTES = len(MAGIC) + DIGEST_BYTES
_TABLED = 2048
_MAX_REMEMBERED = 8192
_PIECES = 4
"""Number of pieces of bytes that a record is kept as until `build` joins them."""


def _encode_varint(value: int) -> bytes:
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


_VARINTS = [_encode_varint(value) for value in range(_TABLED)]


def _varint(value: int) -> bytes:
    return _VARINTS[value] if value < _TABLED else _encode_varint(value)


def _delimited(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


_Head = tuple[bytes, bytes, int]
"""The bytes before and after the index of the partition key, and the length of the whole record."""


def _head(data_bytes: int, index_bytes: int) -> _Head:
    after = b"\x1a" + _varint(data_bytes)
    inside = 1 + index_bytes + len(after) + data_bytes
    before = b"\x1a" + _varint(inside) + b"\x08"
    return before, after, len(before) - 1 + inside


_heads: tuple[dict[int, _Head], ...] = ({}, {}, {}, {}, {})
"""Heads used before, by the byte sizes of index and data."""


def _remembered_head(data_bytes: int, index_bytes: int) -> _Head:
    heads = _heads[index_bytes]
    if len(heads) >= _MAX_REMEMBERED:
        heads.clear()
    heads[data_bytes] = head = _head(data_bytes, index_bytes)
    return head


_Index = tuple[bytes, dict[int, _Head]]
"""The encoded index into a table of keys, and the heads of records whose index has the same size."""
_INDICES: list[_Index] = [(index, _heads[len(index)]) for index in _VARINTS]


def _index(position: int) -> _Index:
    return _INDICES[position] if position < _TABLED else _long_index(position)


def _long_index(position: int) -> _Index:
    index = _encode_varint(position)
    return index, _heads[len(index)]


_key_entries: dict[str, bytes] = {}
"""Partition keys used before, as encoded in the table of an aggregate."""


def _remembered_key_entry(key: str) -> bytes:
    if len(_key_entries) >= _MAX_REMEMBERED:
        _key_entries.clear()
    _key_entries[key] = entry = _delimited(b"\x0a", key.encode())
    return entry


class AggregateBuilder:
    """
    Collects user records of one shard while the aggregate stays within *max_bytes*.

    Attributes:
        size_bytes: The size of what `build` would return now.
        count: The number of user records.
    """

    __slots__ = ("_hash_keys", "_keys", "_max_bytes", "_records", "_tables", "count", "size_bytes")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._keys: dict[str, _Index] = {}
        self._hash_keys: dict[str, _Index] = {}
        self._tables: list[bytes] = []
        self._records: list[bytes] = []
        self.size_bytes = _FRAME_BYTES
        self.count = 0

    def extend(self, data: Sequence[bytes], keys: Sequence[str], start: int = 0) -> int:
        """
        Add user records without explicit hash keys, from index *start* on, until one does not fit.

        Returns the index of that one, or the number of all. This is the inner loop of writing: it takes half the time
        of a call for each user record.
        """
        known, records, entries = self._keys, self._records, _key_entries
        size_bytes, max_bytes, already = self.size_bytes, self._max_bytes, len(records)
        for payload, key in zip(data[start:], keys[start:], strict=True):
            index = known.get(key)
            if index is None:
                entry, position = entries.get(key) or _remembered_key_entry(key), len(known)
                index = _INDICES[position] if position < _TABLED else _long_index(position)
            else:
                entry = b""
            number, heads = index
            before, after, record_bytes = heads.get(len(payload)) or _remembered_head(
                len(payload), len(number)
            )
            grown_bytes = size_bytes + len(entry) + record_bytes
            # For other bytes this comparison is the quickest check. It takes 3 % of the time of this loop.
            if grown_bytes > max_bytes or (payload >= MAGIC and is_aggregate(payload)):
                break
            if entry:
                known[key] = index
                self._tables.append(entry)
            size_bytes = grown_bytes
            records += (before, number, after, payload)
        added = (len(records) - already) // _PIECES
        self.count += added
        self.size_bytes = size_bytes
        return start + added

    def add(self, data: bytes, key: str, explicit_hash_key: str | None = None) -> bool:
        """Add one user record. Returns False, and adds nothing, if it does not fit."""
        if explicit_hash_key is None:
            return self.extend((data,), (key,)) == 1
        index, entry = self._look_up(self._keys, b"\x0a", key)
        hash_index, hash_entry = self._look_up(self._hash_keys, b"\x12", explicit_hash_key)
        content = (b"\x08", index[0], b"\x10", hash_index[0], b"\x1a", _varint(len(data)))
        size = _varint(sum(map(len, content)) + len(data))
        record = (b"\x1a" + size, b"".join(content), b"", data)
        more_bytes = len(entry) + len(hash_entry) + sum(map(len, record))
        if self.size_bytes + more_bytes > self._max_bytes or is_aggregate(data):
            return False
        self._keys[key], self._hash_keys[explicit_hash_key] = index, hash_index
        self._tables += (entry, hash_entry)
        self._records += record
        self.size_bytes += more_bytes
        self.count += 1
        return True

    def _look_up(self, table: dict[str, _Index], tag: bytes, key: str) -> tuple[_Index, bytes]:
        """Return the index of *key*, and the bytes to add to the message if the key is new."""
        index = table.get(key)
        return (index, b"") if index else (_index(len(table)), _delimited(tag, key.encode()))

    def build(self) -> bytes:
        """Return the aggregate as the data of a record. More user records may be added afterwards."""
        message = b"".join(self._tables + self._records)
        return b"".join((MAGIC, message, hashlib.md5(message, usedforsecurity=False).digest()))
