"""The payloads of canned records: random bytes, plain or in KPL aggregates."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

from kinesis_emulator.canned.stream import CannedStream

KEYS = 50
"""Partition keys in an aggregate."""
_MAGIC = b"\xf3\x89\x9a\xc2"


def make_payloads(stream: CannedStream) -> Iterator[bytes]:
    """Yield the payload of each record of a shard."""
    chance = random.Random(0)  # noqa: S311 # reproducible pseudo-randomness is wanted
    for _ in range(stream.total_records):
        if stream.user_records:
            yield _aggregate([chance.randbytes(stream.record_bytes) for _ in range(stream.user_records)])
        else:
            yield chance.randbytes(stream.record_bytes)


def _aggregate(payloads: list[bytes]) -> bytes:
    """
    Return an aggregate of *payloads* under `KEYS` partition keys.

    Source: https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
    """
    table = b"".join(_field(0x0A, b"user-%d" % index) for index in range(KEYS))
    records = (
        _field(0x1A, b"\x08%b%b" % (_varint(index % KEYS), _field(0x1A, payload)))
        for index, payload in enumerate(payloads)
    )
    message = table + b"".join(records)
    return _MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def _field(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    head = bytearray()
    while value > 0x7F:
        head.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*head, value])
