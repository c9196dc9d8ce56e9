"""Valid and damaged aggregates in the format of the Kinesis Producer Library."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import md5

MAGIC = b"\xf3\x89\x9a\xc2"

UserRecord = tuple["str | bytes", "str | None", bytes]
"""Partition key, of any bytes, explicit hash key, payload."""


def aggregate(records: Iterable[UserRecord]) -> bytes:
    """Return the data of a record that holds *records*."""
    return sealed(_message(list(records)))


def sealed(message: bytes) -> bytes:
    """Return *message* between the magic number and its checksum."""
    return MAGIC + message + md5(message, usedforsecurity=False).digest()


def _message(records: list[UserRecord]) -> bytes:
    keys = list(dict.fromkeys(key for key, _, _ in records))
    hash_keys = list(dict.fromkeys(h for _, h, _ in records if h is not None))
    body = b"".join(_bytes(1, key if isinstance(key, bytes) else key.encode()) for key in keys)
    body += b"".join(_bytes(2, hash_key.encode()) for hash_key in hash_keys)
    for key, hash_key, data in records:
        chosen = b"" if hash_key is None else _number(2, hash_keys.index(hash_key))
        body += _bytes(3, _number(1, keys.index(key)) + chosen + _bytes(3, data))
    return body


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
