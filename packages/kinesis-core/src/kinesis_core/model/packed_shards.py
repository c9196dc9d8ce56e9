"""
The packed form of many shard offsets: some 30 characters for each shard instead of 190.

The text is Base64 of these bytes:

    count           how many shards there are
    kinds           a byte for each shard: the kind of its cut, and which fields it has
    ids             the shard ids, in ascending order
    numbers         of the cuts: sequence numbers, and times of AT_TIMESTAMP; of shards whose cut has none, the first record
    firsts          the first records, as their difference (XOR) from the shard's number in that table
    times           `arrived` or `empty_until`
    skips           of the cuts
    first_skips     of the first records
    check           CRC-32 of all bytes before it, so that no changed byte is read as another position

All from `ids` to `first_skips` are tables of `packed_numbers`, with a number for every shard. A shard that lacks the field has the
number of the shard before it, which takes the least bytes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import crc32
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from kinesis_core.errors import OffsetError
from kinesis_core.model.cuts import LAST_EPOCH_MS, After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon
from kinesis_core.model.packed_numbers import PackedReader, write_count, write_table
from kinesis_core.model.shard_offsets import MAX_NUMBER, ShardOffset

_CUT = 0b111
_TRIM_HORIZON, _SHARD_END, _AT_TIMESTAMP, _AT, _AFTER = range(5)
_WITHOUT_NUMBER = (_TRIM_HORIZON, _SHARD_END)
_HAS_TIME, _WAS_EMPTY, _HAS_FIRST = 8, 16, 32
_KINDS = {
    cut | time | first
    for cut in (_TRIM_HORIZON, _SHARD_END, _AT_TIMESTAMP, _AT, _AFTER)
    for time in (0, _HAS_TIME, _HAS_TIME | _WAS_EMPTY)
    for first in (0, _HAS_FIRST)
}
_CHECK_BYTES = 4
_ID_START = b"\1"
"""Makes a number of any shard id, also of an empty one."""
_AS_BYTES = ("utf-8", "surrogatepass")
_TABLES = 6


def pack_shards(shards: Mapping[str, ShardOffset]) -> str:
    """
    Return the packed form of *shards*, of which there is at least one.

    Raises:
        OverflowError: A shard id or a skip is longer than 254 bytes.
    """
    ordered = sorted(shards.items(), key=itemgetter(0))
    kinds = bytearray()
    fields: list[tuple[int, ...]] = []
    number = difference = time_ms = 0
    for _, shard in ordered:
        skip = 0
        match shard.cut:
            case After(number):
                kind = _AFTER
            case At(number, skip):
                kind = _AT
            case AtTimestamp(number):
                kind = _AT_TIMESTAMP
            case ShardEnd():
                kind = _SHARD_END
            case TrimHorizon():
                kind = _TRIM_HORIZON
        if shard.first is not None:
            number = shard.first if kind in _WITHOUT_NUMBER else number
            difference = number ^ shard.first
            kind |= _HAS_FIRST
        if shard.arrived_ms is not None:
            kind |= _HAS_TIME | _WAS_EMPTY * shard.was_empty
            time_ms = shard.arrived_ms
        kinds.append(kind)
        fields.append((number, difference, time_ms, skip, shard.first_skip))
    ids = [int.from_bytes(_ID_START + shard_id.encode(*_AS_BYTES), "big") for shard_id, _ in ordered]
    tables = [ids, *zip(*fields, strict=True)]
    packed = b"".join([write_count(len(kinds)), kinds, *map(write_table, tables)])
    return b64encode(packed + _check(packed)).decode()


def unpack_shards(text: Any) -> dict[str, ShardOffset]:
    """
    Return the shards whose packed form is *text*.

    Raises:
        OffsetError: It is damaged.
    """
    reader = PackedReader(_checked(text))
    kinds = reader.take(reader.count())
    if not _KINDS.issuperset(kinds):
        raise OffsetError("the packed shards have an unknown kind of cut")
    tables = [reader.table(len(kinds)) for _ in range(_TABLES)]
    if not reader.is_done:
        raise OffsetError("more bytes follow the packed shards")
    shards = {
        _id_of(shard_id): _shard(kind, *fields)
        for kind, shard_id, *fields in zip(kinds, *tables, strict=True)
    }
    if len(shards) < len(kinds):
        raise OffsetError("the packed shards have one shard twice")
    return shards


def _shard(kind: int, number: int, difference: int, time_ms: int, skip: int, first_skip: int) -> ShardOffset:
    first = number ^ difference if kind & _HAS_FIRST else None
    if (first or 0) > MAX_NUMBER or time_ms > LAST_EPOCH_MS:
        raise OffsetError("the packed shards have a too large number")
    return ShardOffset(
        _cut(kind & _CUT, number, skip),
        time_ms if kind & _HAS_TIME else None,
        first,
        0 if first is None else first_skip,
        was_empty=bool(kind & _WAS_EMPTY),
    )


def _cut(kind: int, number: int, skip: int) -> Cut:
    if kind == _AFTER and number <= MAX_NUMBER:
        return After(number)
    if kind == _AT and number <= MAX_NUMBER:
        return At(number, skip)
    if kind == _AT_TIMESTAMP and number <= LAST_EPOCH_MS:
        return AtTimestamp(number)
    if kind == _TRIM_HORIZON:
        return TrimHorizon()
    if kind == _SHARD_END:
        return ShardEnd()
    raise OffsetError("the packed shards have a cut with a too large number")


def _id_of(number: int) -> str:
    text = number.to_bytes((number.bit_length() + 7) // 8, "big")
    try:
        return text.removeprefix(_ID_START).decode(*_AS_BYTES)
    except UnicodeDecodeError as error:
        raise OffsetError("the packed shards have an id that is not a text") from error


def _check(packed: bytes) -> bytes:
    return crc32(packed).to_bytes(_CHECK_BYTES, "big")


def _checked(text: Any) -> bytes:
    """Return the bytes before the check value, if it is theirs."""
    try:
        packed = b64decode(text, validate=True)
    except (ValueError, TypeError) as error:
        raise OffsetError("'packed' is not Base64") from error
    if b64encode(packed).decode() != text or _check(packed[:-_CHECK_BYTES]) != packed[-_CHECK_BYTES:]:
        raise OffsetError("'packed' was changed: its check value is another one")
    return packed[:-_CHECK_BYTES]
