"""
Sequence numbers: 56 digits that order a shard's records and encode their shard.

From the highest bit: a leading 2, the second in which the shard was opened (36 bits), the last hex digit of the shard's
index (4), the record's index in the shard (64), zero (8), the second of arrival (36), the shard's index (32), the version
2 (4). So two neighbours differ by 2**80. A child is opened in a later second than its parents, so its numbers are higher.
"""

from __future__ import annotations

from dataclasses import dataclass

_LEAD_SHIFT, _OPENED_SHIFT, _NIBBLE_SHIFT = 184, 148, 144
_INDEX_SHIFT, _ARRIVED_SHIFT, _SHARD_SHIFT = 80, 36, 4
_LEAD = _VERSION = 2
_SECONDS_MASK = 2**36 - 1
_EARLIEST_LEAD, _EARLIEST_OPENED_SHIFT = 2**124, 88
_EARLIER_ARRIVED_SHIFT = 100
_LAST_OPENED_S = 16_025_175_000
"""AWS accepts no number of a shard that was opened later."""

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


@dataclass(frozen=True)
class GivenNumber:
    """What AWS reads from any number that a request may have."""

    shard_index: int
    """Negative if it has more than 31 bits."""
    arrived_s: int
    """0 if the number has no time."""


def read(text: str) -> GivenNumber | None:
    """
    Return what AWS reads from a number of a request, of any version; None if it is no sequence number.

    Version 0 has 125 bits: a leading 1, the second in which the shard was opened (36), and the shard's index last (16). Its
    leading 1 may lack, so that 0 is a number of shard 0. Version 1 differs from version 2 in the place of the time.

    Source: https://github.com/mhart/kinesalite, db/index.js and tests, which were run against AWS.
    """
    number = int(text)
    if number < 2 * _EARLIEST_LEAD:
        opened_s = (number % _EARLIEST_LEAD) >> _EARLIEST_OPENED_SHIFT
        return GivenNumber(number & 0xFFFF, 0) if opened_s < _LAST_OPENED_S else None
    version, shard_index = number & 0xF, (number >> _SHARD_SHIFT) & 0xFFFFFFFF
    if number >> _LEAD_SHIFT != _LEAD or version not in (1, _VERSION):
        return None
    # More than 31 bits are the amount of a negative index.
    shard_index = -shard_index if shard_index >= 2**31 else shard_index
    if version == 1:
        return GivenNumber(shard_index, (number >> _EARLIER_ARRIVED_SHIFT) & _SECONDS_MASK)
    is_known = (number >> _INDEX_SHIFT) & (2**64 - 1) <= LAST_INDEX
    is_known = is_known and (number >> _OPENED_SHIFT) & _SECONDS_MASK < _LAST_OPENED_S
    return GivenNumber(shard_index, (number >> _ARRIVED_SHIFT) & _SECONDS_MASK) if is_known else None


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
