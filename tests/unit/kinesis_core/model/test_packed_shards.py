"""Packed shards: their size, their damage, and bytes that nobody has written."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import crc32
from collections.abc import Callable
from random import Random

import pytest

from kinesis_core.errors import OffsetError
from kinesis_core.model import After, Offset, ShardEnd, ShardOffset, StreamOffset
from kinesis_core.model.packed_numbers import write_count, write_table
from kinesis_core.model.packed_shards import pack_shards, unpack_shards
from kinesis_emulator.numbers import encode, shard_base

SHARDS = 10_000
DAY_MS = 86_400_000
NOW_MS = 1_790_000_000_000
CREATED_S = 1_700_000_000
Shards = dict[str, ShardOffset]


def shard_id(index: int) -> str:
    return f"shardId-{index:012d}"


def busy(random: Random, index: int, opened_s: int = CREATED_S, within_ms: int = 60_000) -> ShardOffset:
    """Return the end of a batch in a busy shard: all numbers and times differ from those of the other shards."""
    arrived_ms = NOW_MS - random.randrange(within_ms)
    base, count = shard_base(opened_s, index), random.randrange(20_000, 14_000_000_000)
    first_s = arrived_ms // 1000 - random.randrange(-1, 30)
    first = encode(base, count - random.randrange(20_000), first_s)
    return ShardOffset(After(int(encode(base, count, arrived_ms // 1000))), arrived_ms, int(first))


def busy_shards(random: Random) -> Shards:
    return {shard_id(i): busy(random, i) for i in range(SHARDS)}


def idle_shards(random: Random) -> Shards:
    """All were checked at about the same time. Their last records are from any time of a year."""
    last = [busy(random, i, within_ms=365 * DAY_MS) for i in range(SHARDS)]
    return {
        shard_id(i): ShardOffset(end.cut, NOW_MS - random.randrange(DAY_MS), was_empty=True)
        for i, end in enumerate(last)
    }


def resharded(random: Random) -> Shards:
    """Each shard has another second of opening, and its own history; a third is closed, with and without a last batch."""
    opened = sorted(random.randrange(CREATED_S, NOW_MS // 1000) for _ in range(SHARDS))
    shards = {shard_id(i): busy(random, i, opened_s, DAY_MS) for i, opened_s in enumerate(opened)}
    for closed in random.sample(sorted(shards)[: SHARDS * 2 // 3], SHARDS // 3):
        end = shards[closed]
        shards[closed] = ShardOffset(ShardEnd(), end.arrived_ms, end.first if random.random() < 0.5 else None)
    return shards


@pytest.mark.parametrize(
    ("make", "most"),
    [(busy_shards, 30), (idle_shards, 30), (resharded, 40)],
    ids=["busy", "idle", "resharded"],
)
def test_a_shard_takes_at_most_40_bytes(make: Callable[[Random], Shards], most: int) -> None:
    """The text of an offset of 10,000 shards has at most 40 bytes for each, with numbers like those of AWS."""
    offset = Offset({"orders": StreamOffset(NOW_MS, make(Random(7)), 24)})
    text = json.dumps(offset.to_json())
    assert len(text) <= most * SHARDS
    assert Offset.from_json(json.loads(text)) == offset


def test_each_changed_character_is_noticed() -> None:
    """No packed text that differs in one character, or is cut off, is read: it may be another position."""
    random = Random(7)
    text = pack_shards({shard_id(i): busy(random, i) for i in range(12)})
    for place, found in enumerate(text):
        for other in {"A", "b", "9", "+", "=", "\n", "\u00e9", ""} - {found}:
            with pytest.raises(OffsetError):
                unpack_shards(text[:place] + other + text[place + 1 :])
        with pytest.raises(OffsetError):
            unpack_shards(text[:place])


def checked(packed: bytes) -> str:
    """Return the text of *packed* with its check value."""
    return b64encode(packed + crc32(packed).to_bytes(4, "big")).decode()


def packed(kinds: bytes, *tables: list[int]) -> str:
    return checked(b"".join([write_count(len(kinds)), kinds, *map(write_table, tables)]))


ID = int.from_bytes(b"\1a", "big")
NONE = [0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (packed(b"\4\4", [ID] * 2, [5, 6], *[[0, 0]] * 4), "one shard twice"),
        (packed(b"\5", [ID], *[NONE] * 5), "unknown kind"),
        (packed(b"\x14", [ID], *[NONE] * 5), "unknown kind"),
        (packed(b"\4", [int.from_bytes(b"\1\xff", "big")], *[NONE] * 5), "an id that is not a text"),
        (packed(b"\4", [ID], [10**129], *[NONE] * 4), "a too large number"),
        (packed(b"\3", [ID], [10**129], *[NONE] * 4), "a too large number"),
        (packed(b"\2", [ID], [253_402_300_800_000], *[NONE] * 4), "a too large number"),
        (packed(b"\x24", [ID], [10**129 - 1], [2**429], *[NONE] * 3), "a too large number"),
        (packed(b"\x0c", [ID], NONE, NONE, [253_402_300_800_000], NONE, NONE), "a too large number"),
        (packed(b"\4", [ID], *[NONE] * 6), "more bytes follow"),
        (packed(b"\4", [ID], *[NONE] * 4), "cut off"),
        (checked(b""), "cut off"),
        (checked(b"\x80\x80\x80\x80\x80\1"), "a count .* is too large"),
        (checked(b"\1\4\1\2"), "the unknown form 2"),
        (checked(b"\1\4\1\1\2\1"), "a run .* has a wrong length"),
        (checked(b"\1\4\1\1\0\1"), "a run .* has a wrong length"),
    ],
)
def test_bytes_that_nobody_has_written_are_refused(text: str, fault: str) -> None:
    """Also those with a right check value."""
    with pytest.raises(OffsetError, match=fault):
        unpack_shards(text)


def test_no_number_takes_more_room_than_it_needs() -> None:
    """A field that no shard has takes one byte, whatever the number of shards."""
    text = pack_shards({shard_id(i): ShardOffset(ShardEnd()) for i in range(SHARDS)})
    assert b64decode(text)[-9:-4] == bytes(5)
