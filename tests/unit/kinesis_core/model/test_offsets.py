from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kinesis_core.errors import OffsetError
from kinesis_core.model import (
    MAX_PLAIN_SHARDS,
    After,
    At,
    AtTimestamp,
    Offset,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "offsets"
BASE = 49660000000000000000000000000000000000000000000000000000
OFFSET = Offset(
    {
        "orders": StreamOffset(
            1780000000000,
            {
                "shardId-000000000006": ShardOffset(TrimHorizon()),
                "shardId-000000000005": ShardOffset(AtTimestamp(1790000000000)),
                "shardId-000000000004": ShardOffset(At(BASE + 41), 1790000012377, BASE + 40),
                "shardId-000000000003": ShardOffset(After(BASE + 31)),
                "shardId-000000000002": ShardOffset(After(BASE + 22), 1790000012345, BASE + 20),
                "shardId-000000000001": ShardOffset(ShardEnd(), None, BASE + 10),
                "shardId-000000000000": ShardOffset(ShardEnd()),
            },
        ),
        "arn:aws:kinesis:eu-west-1:000000000000:stream/returns": StreamOffset(1780000000001),
    }
)


HALF_READ = Offset(
    {
        "orders": StreamOffset(
            1780000000000,
            {
                "shardId-000000000000": ShardOffset(At(BASE + 40, skip=3), 1790000012377),
                "shardId-000000000001": ShardOffset(After(BASE + 52), 1790000012345, BASE + 50, first_skip=2),
            },
        )
    }
)
"""A query that began inside two aggregates, one of which is in the batch that ends here."""
KEPT = Offset(
    {
        "orders": StreamOffset(
            1780000000000,
            {
                "shardId-000000000000": ShardOffset(After(BASE + 22), 1790000012345, BASE + 20),
                "shardId-000000000001": ShardOffset(After(BASE + 31), 1790000054321, was_empty=True),
                "shardId-000000000002": ShardOffset(TrimHorizon(), 1790000054321, was_empty=True),
                "shardId-000000000003": ShardOffset(ShardEnd(), 1790000012377),
            },
            kept_hours=24,
        )
    }
)
"""An offset that shows what may expire: with the retention, and with the kind of each time."""


def text_of(offset: Offset, max_shards: float = MAX_PLAIN_SHARDS) -> str:
    """Return the compact text that Spark keeps."""
    return json.dumps(offset.to_json(max_shards), separators=(",", ":"), sort_keys=True)


def with_position(position: Any) -> dict[str, Any]:
    return {"version": 1, "streams": {"orders": {"created": 1, "shards": {"shardId-0": position}}}}


@pytest.mark.parametrize(
    ("name", "offset"), [("v1", OFFSET), ("v1-half-read", HALF_READ), ("v1-retention", KEPT)]
)
def test_version_1_is_written_and_read_as_released(name: str, offset: Offset) -> None:
    """Every kind of cut, starts inside aggregates, retentions and times that are no arrivals are as in the golden files."""
    text = (GOLDEN / f"{name}.json").read_text()
    assert text_of(offset) + "\n" == text
    assert Offset.from_json(json.loads(text)) == offset


@pytest.mark.parametrize(
    ("name", "offset"), [("v2", OFFSET), ("v2-half-read", HALF_READ), ("v2-retention", KEPT)]
)
def test_version_2_is_written_and_read_as_released(name: str, offset: Offset) -> None:
    """The same offsets in the packed form are as in the golden files."""
    text = (GOLDEN / f"{name}.json").read_text()
    assert text_of(offset, max_shards=0) + "\n" == text
    assert Offset.from_json(json.loads(text)) == offset


def shards(count: int) -> StreamOffset:
    return StreamOffset(1, {f"shardId-{i:012d}": ShardOffset(After(BASE + i)) for i in range(count)})


def test_large_streams_are_packed() -> None:
    """A stream of 200 shards is written as in version 1. With one more it is packed, and no other stream with it."""
    small, large = shards(200), shards(201)
    assert Offset({"orders": small}).to_json()["version"] == 1
    offset = Offset({"orders": small, "returns": large})
    value = offset.to_json()
    assert value["version"] == 2
    assert {name: sorted(stream) for name, stream in value["streams"].items()} == {
        "orders": ["created", "shards"],
        "returns": ["created", "packed"],
    }
    plain = offset.to_json(max_shards=201)
    assert plain["version"] == 1
    assert Offset.from_json(value) == Offset.from_json(plain) == offset


def test_shards_that_cannot_be_packed_stay_plain() -> None:
    """A shard id of more bytes than the packed form has room for is written as in version 1."""
    offset = Offset(
        {"orders": StreamOffset(1, {**shards(200).shards, "s" * 255: ShardOffset(TrimHorizon())})}
    )
    assert offset.to_json()["version"] == 1
    assert Offset.from_json(offset.to_json()) == offset


@pytest.mark.parametrize("packed", [None, 7, "", "AAAA", "a", "\u00e9", "A" * 1000, {}, ["AAAA"]])
def test_a_damaged_packed_stream_is_refused(packed: Any) -> None:
    """It is refused as other damage is. The message names the stream."""
    value = {"version": 2, "streams": {"orders": {"created": 1, "packed": packed}}}
    with pytest.raises(OffsetError, match=r"offset is damaged \(orders: 'packed' "):
        Offset.from_json(value)


def test_a_packed_stream_belongs_to_version_2() -> None:
    """In version 1 it is an unknown field, and beside plain shards it is damage."""
    value = Offset({"orders": shards(201)}).to_json()
    with pytest.raises(OffsetError, match="field 'orders': 'packed', which this release does not know"):
        Offset.from_json({**value, "version": 1})
    value["streams"]["orders"]["shards"] = {}
    with pytest.raises(OffsetError, match="orders: it has both 'shards' and 'packed'"):
        Offset.from_json(value)


@pytest.mark.parametrize("offset", [OFFSET, KEPT])
def test_equal_offsets_give_equal_text(offset: Offset) -> None:
    """The text does not depend on the order in which streams and shards were found: Spark compares the texts."""
    turned = Offset(
        {
            name: evolve(stream, shards=dict(reversed([*stream.shards.items()])))
            for name, stream in reversed([*offset.streams.items()])
        }
    )
    assert turned == offset
    assert json.dumps(turned.to_json()) == json.dumps(offset.to_json())
    assert json.dumps(turned.to_json(0)) == json.dumps(offset.to_json(0))


NO_VERSION: list[Any] = [None, [], "text", 7, {}, {"streams": {}}]


@pytest.mark.parametrize(
    ("value", "version"),
    [
        *[({"version": version, "streams": {}}, version) for version in (0, 3, 17, "1", 1.0, True, None)],
        *[(value, None) for value in NO_VERSION],
    ],
)
def test_another_version_is_refused_with_both_numbers(value: Any, version: Any) -> None:
    """An offset of an unknown version, or of none, is refused. The error names its version and ours."""
    with pytest.raises(OffsetError, match=rf"version {version!r}; this release reads versions 1 and 2\b"):
        Offset.from_json(value)


@pytest.mark.parametrize(
    ("position", "fault"),
    [
        (7, "not a JSON object"),
        ({}, "not a cut"),
        ({"AFTER": 5}, "not a cut"),
        ({"AFTER": "5", "AT": "5"}, "not a cut"),
        ({"AFTER": "-5"}, "not a sequence number"),
        ({"AFTER": "٣"}, "not a sequence number"),
        ({"AFTER": ""}, "not a sequence number"),
        ({"AT": "9" * 130}, "not a sequence number"),
        ({"AFTER": "5", "first": 4}, "not a sequence number"),
        ({"AFTER": "5", "arrived": "now"}, "'arrived' is 'now'"),
        ({"AFTER": "5", "arrived": True}, "'arrived' is True"),
        ({"AFTER": "5", "empty_until": "now"}, "'empty_until' is 'now'"),
        ({"AFTER": "5", "empty_until": 5, "arrived": 5}, "not a cut"),
        ({"SHARD_END": False}, "not a cut"),
        ({"AT": "5", "skip": -1}, "not a number of user records"),
        ({"AT": "5", "skip": True}, "not a number of user records"),
        ({"AFTER": "5", "skip": 1}, "not a cut"),
        ({"AFTER": "5", "first": "4", "first_skip": "1"}, "not a number of user records"),
        ({"AFTER": "5", "first_skip": 1}, "not a cut"),
        ({"TRIM_HORIZON": 1}, "not a cut"),
        ({"AT_TIMESTAMP": "today"}, "not a cut"),
        ({"AT_TIMESTAMP": True}, "not a cut"),
    ],
)
def test_a_damaged_shard_offset_is_refused(position: Any, fault: str) -> None:
    """A damaged shard offset is refused. The message names the stream, the shard and the fault."""
    with pytest.raises(OffsetError, match=f"offset is damaged .*orders: shardId-0: .*{fault}"):
        Offset.from_json(with_position(position))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda value: value.update(note=1), "'note'"),
        (lambda value: value["streams"]["orders"].update(note=None), "'orders': 'note'"),
        (
            lambda value: value["streams"]["orders"]["shards"]["shardId-0"].update(note={}),
            "'orders': 'shardId-0': 'note'",
        ),
    ],
)
def test_an_unknown_field_is_refused(change: Callable[[dict[str, Any]], None], path: str) -> None:
    """A field that this release does not know may change what the others mean. The error names it, and who may have written it."""
    value = with_position({"AFTER": "5"})
    change(value)
    with pytest.raises(
        OffsetError, match=f"field {path}, which this release does not know. Use the release that wrote it"
    ):
        Offset.from_json(value)


@pytest.mark.parametrize(
    ("streams", "part"),
    [
        (None, "'streams' is None"),
        ([], "'streams' is "),
        ({"orders": None}, "orders: it is None"),
        ({"orders": {}}, "orders: 'created' is None"),
        ({"orders": {"created": 1}}, "orders: 'shards' is None"),
        ({"orders": {"created": "1", "shards": {}}}, "orders: 'created' is '1'"),
        ({"orders": {"created": True, "shards": {}}}, "orders: 'created' is True"),
        ({"orders": {"created": 1, "retention": "24", "shards": {}}}, "orders: 'retention' is '24'"),
        ({"orders": {"created": 1, "retention": True, "shards": {}}}, "orders: 'retention' is True"),
        ({"orders": {"created": 1, "retention": 0, "shards": {}}}, "orders: 'retention' is 0"),
        ({"orders": {"created": 1, "shards": []}}, "orders: 'shards' is "),
    ],
)
def test_a_damaged_structure_is_refused(streams: Any, part: str) -> None:
    """An offset with a missing part, or with a part of another type, is refused as damaged. The message names the part."""
    with pytest.raises(OffsetError, match=f"offset is damaged .*{part}"):
        Offset.from_json({"version": 1, "streams": streams})


def test_a_shard_offset_is_carried_over_without_its_batch() -> None:
    """The end of a later batch without records keeps cut and arrival time, and has no first record."""
    assert ShardOffset(After(5), 17, first=3, first_skip=1).carried_over() == ShardOffset(After(5), 17)
    assert ShardOffset(At(5, skip=2), 17).carried_over() == ShardOffset(At(5, skip=2), 17)
    empty = ShardOffset(After(5), 17, first=3, was_empty=True)
    assert empty.carried_over() == ShardOffset(After(5), 17, was_empty=True)


def test_a_later_time_that_is_no_arrival() -> None:
    """It takes the place of an earlier one. An earlier one, or none, changes nothing."""
    read = ShardOffset(After(5), 17, first=3)
    assert read.was_empty_until(18) == ShardOffset(After(5), 18, first=3, was_empty=True)
    assert [read.was_empty_until(ms) for ms in (17, 16, None)] == [read] * 3
    assert ShardOffset(After(5)).was_empty_until(1) == ShardOffset(After(5), 1, was_empty=True)


def test_which_cuts_name_a_record_that_was_seen() -> None:
    """Those whose time is the arrival of that record. An older release did not tell its times apart."""
    seen = ShardOffset(After(5), 17)
    assert [p.names_seen_record for p in (seen, ShardOffset(At(5), 17))] == [True, True]
    others = [
        ShardOffset(After(5)),
        ShardOffset(After(5), 17, was_empty=True),
        ShardOffset(TrimHorizon(), 17),
    ]
    assert not any(p.names_seen_record for p in others)
    shards = {"shardId-0": seen}
    assert StreamOffset(1, shards, kept_hours=24).started("shardId-0") == seen
    assert StreamOffset(1, shards).started("shardId-0") == ShardOffset(After(5), 17, was_empty=True)
