"""
Sequence numbers: 56 digits that order a shard's records and encode their shard.

From the highest bit: a leading 2, the second in which the shard was opened (36 bits), the last hex digit of the shard's
index (4), the record's index in the shard (64), zero (8), the second of arrival (36), the shard's index (32), the version
2 (4). So two neighbours differ by 2**80. A child is opened in a later second than its parents, so its numbers are higher.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LEAD_SHIFT, _OPENED_SHIFT, _NIBBLE_SHIFT = 184, 148, 144
_INDEX_SHIFT, _ARRIVED_SHIFT, _SHARD_SHIFT = 80, 36, 4
_LEAD = _VERSION = 2
_SECONDS_MASK = 2**36 - 1
_PATTERN = re.compile(r"(0|[1-9]\d{0,128})")

LAST_INDEX = 2**63 - 1
"""The index in the ending number of a closed shard, above the index of every record."""


@dataclass(frozen=True)
class SequenceNumber:
    """The parts of a sequence number. The first record has index 1; index 0 is the shard's starting number."""

    opened_s: int
    shard_index: int
    index: int
    arrived_s: int


def shard_base(opened_s: int, shard_index: int) -> int:
    """Return the part that is equal in all sequence numbers of a shard."""
    return (
        (_LEAD << _LEAD_SHIFT)
        | ((opened_s & _SECONDS_MASK) << _OPENED_SHIFT)
        | ((shard_index & 0xF) << _NIBBLE_SHIFT)
        | (shard_index << _SHARD_SHIFT)
        | _VERSION
    )


def encode(base: int, index: int, arrived_s: int) -> str:
    """Return the sequence number of record *index* of the shard whose `shard_base` is *base*."""
    return str(base + (index << _INDEX_SHIFT) + ((arrived_s & _SECONDS_MASK) << _ARRIVED_SHIFT))


def is_decimal(text: str) -> bool:
    """Return whether *text* has the form that AWS's API model requires of a sequence number."""
    return _PATTERN.fullmatch(text) is not None


def decode(text: str) -> SequenceNumber | None:
    """Return the parts of *text*, or None if no shard can have such a number."""
    number = int(text)
    shard_index = (number >> _SHARD_SHIFT) & 0xFFFFFFFF
    decoded = SequenceNumber(
        opened_s=(number >> _OPENED_SHIFT) & _SECONDS_MASK,
        shard_index=shard_index,
        index=(number >> _INDEX_SHIFT) & (2**64 - 1),
        arrived_s=(number >> _ARRIVED_SHIFT) & _SECONDS_MASK,
    )
    base = shard_base(decoded.opened_s, shard_index)
    return decoded if encode(base, decoded.index, decoded.arrived_s) == text else None
