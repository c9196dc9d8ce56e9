"""Offsets as text, and other JSON in place of an offset."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import crc32
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from kinesis_core.errors import OffsetError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Offset,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.model.offsets import FIELDS, STREAM_FIELDS
from kinesis_core.model.packed_shards import pack_shards, unpack_shards
from kinesis_core.model.shard_offsets import SHARD_FIELDS

numbers = st.integers(0, 10**129 - 1)
cuts = st.one_of(
    st.just(TrimHorizon()),
    st.just(ShardEnd()),
    st.builds(AtTimestamp, st.integers(0, 10**13)),
    st.builds(At, numbers, st.integers(0, 9)),
    st.builds(After, numbers),
)
arrivals = st.none() | st.integers(0, 10**13)
positions = st.one_of(
    st.builds(ShardOffset, cuts, arrivals),
    st.builds(ShardOffset, cuts, arrivals, numbers, st.integers(0, 9)),
    st.builds(ShardOffset, cuts, st.integers(0, 10**13), st.none() | numbers, was_empty=st.booleans()),
)
shard_ids = st.text(max_size=63)
"""At most 254 bytes, as packed ids are. Those of Kinesis have at most 128 characters of ASCII."""
streams = st.builds(
    StreamOffset,
    st.integers(0, 10**13),
    st.dictionaries(shard_ids, positions, max_size=4),
    st.none() | st.integers(1, 8760),
)
offsets = st.builds(Offset, st.dictionaries(st.text(), streams, max_size=3))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
words = st.sampled_from(
    [
        "note",
        "AFTER",
        "AT",
        "AT_TIMESTAMP",
        "SHARD_END",
        "TRIM_HORIZON",
        "first",
        "arrived",
        "empty_until",
        "skip",
        "first_skip",
    ]
)
scalars = st.sampled_from(["5", "x", "", 5, True, False, None, 1.5]) | values
almost_positions = st.dictionaries(words, scalars, max_size=3) | values
almost_streams = (
    st.fixed_dictionaries(
        {},
        optional={
            "created": scalars,
            "retention": scalars,
            "shards": st.dictionaries(st.text(), almost_positions),
        },
    )
    | values
)
almost_offsets = st.fixed_dictionaries(
    {"version": st.sampled_from([1, 1, 1, 2, "1", None])},
    optional={"streams": st.dictionaries(st.text(), almost_streams) | values},
)


@given(offsets)
def test_offsets_go_through_text_unharmed(offset: Offset) -> None:
    """An offset that is read from its text is equal and gives the same text again."""
    text = json.dumps(offset.to_json())
    again = Offset.from_json(json.loads(text))
    assert again == offset
    assert json.dumps(again.to_json()) == text


@given(offsets, st.text(), st.data())
def test_a_field_more_is_refused(offset: Offset, name: str, data: st.DataObject) -> None:
    """An offset with a field that no release has written is refused, wherever it is. The message names it."""
    value = offset.to_json()
    assume(name not in FIELDS | STREAM_FIELDS[2] | SHARD_FIELDS)
    found = value["streams"].values()
    parts = [value, *found, *(shard for stream in found for shard in stream["shards"].values())]
    data.draw(st.sampled_from(parts))[name] = data.draw(values)
    with pytest.raises(OffsetError, match="which this release does not know") as refused:
        Offset.from_json(value)
    assert len(repr(name)) > 100 or repr(name) in str(refused.value)  # a longer one is shortened


@given(values | almost_offsets)
def test_any_json_is_an_offset_or_refused(value: Any) -> None:
    """Any JSON is an offset that survives a round trip, or an OffsetError, never another exception."""
    try:
        offset = Offset.from_json(value)
    except OffsetError:
        return
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


@given(offsets, st.integers(0, 3))
def test_packed_offsets_go_through_text_unharmed(offset: Offset, max_shards: int) -> None:
    """Any offset is the same again when its streams are packed, and equal offsets have equal text."""
    text = json.dumps(offset.to_json(max_shards))
    again = Offset.from_json(json.loads(text))
    assert again == offset
    assert json.dumps(again.to_json(max_shards)) == text


any_ids = st.text(st.characters(), max_size=63)  # also with surrogates, which JSON can hold


@given(st.dictionaries(any_ids, positions, min_size=1, max_size=300))
def test_packed_shards_are_the_same_again(shards: dict[str, ShardOffset]) -> None:
    """Shards with any ids, cuts, times, first records and skips are read as they were packed."""
    text = pack_shards(shards)
    assert unpack_shards(text) == shards
    assert pack_shards(dict(reversed([*shards.items()]))) == text


@given(st.dictionaries(shard_ids, positions, min_size=1, max_size=8), st.data())
def test_damage_of_packed_shards_is_refused(shards: dict[str, ShardOffset], data: st.DataObject) -> None:
    """A changed byte is never read as another position."""
    packed = bytearray(b64decode(pack_shards(shards)))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(OffsetError):
        unpack_shards(b64encode(packed).decode())


def _with_check(packed: bytes) -> str:
    return b64encode(packed + crc32(packed).to_bytes(4, "big")).decode()


@given(st.binary(max_size=200) | st.dictionaries(shard_ids, positions, min_size=1, max_size=8), st.data())
def test_any_bytes_are_shards_or_refused(given: bytes | dict[str, ShardOffset], data: st.DataObject) -> None:
    """Any bytes with a right check value are shards that survive a round trip, or an OffsetError, never another exception."""
    packed = bytearray(given if isinstance(given, bytes) else b64decode(pack_shards(given))[:-4])
    if not isinstance(given, bytes):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        shards = unpack_shards(_with_check(bytes(packed)))
    except OffsetError:
        return
    plain = {shard_id: shard.to_json() for shard_id, shard in shards.items()}
    assert {shard_id: ShardOffset.from_json(shard) for shard_id, shard in plain.items()} == shards
