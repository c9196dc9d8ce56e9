"""
Offsets: how far every shard of every stream was read, as Spark keeps it in its offset log.

    {"version": 1,
     "streams": {"orders": {"created": 1780000000000, "retention": 24,
       "shards": {"shardId-000000000000": {"SHARD_END": true, "first": "4963..."},
                  "shardId-000000000001": {"AFTER": "4966...", "arrived": 1790000012345, "first": "4965..."},
                  "shardId-000000000002": {"AFTER": "4966...", "empty_until": 1790000054321},
                  "shardId-000000000003": {"AT_TIMESTAMP": 1790000000000}}}}}

`first` is the first record of the batch that ends at this offset. So a batch is bounded by two real records, and its
end offset alone defines its records, whichever start Spark passes when it replays the batch.

`arrived` is the arrival of the record that the cut names. `empty_until` stands in its place where the time is another one. With
`retention` they show later what may have expired, whatever the retention is by then. Older releases wrote neither `retention` nor
`empty_until`: their `arrived` may be either time.

A query may begin inside an aggregate, after user records that another reader has read. Then the offset holds their
number once: first as `{"AT": "4965...", "skip": 3}`, then for the batch that begins there, as
`"first": "4965...", "first_skip": 3`.

That is version 1. In version 2, which only an offset with a large stream has, this stream has `packed` in place of `shards`: the same
values in a text of a sixth of the size, that `packed_shards` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kinesis_core.errors import OffsetError
from kinesis_core.model.cuts import ShardEnd, TrimHorizon
from kinesis_core.model.packed_shards import pack_shards, unpack_shards
from kinesis_core.model.shard_offsets import SHARD_FIELDS, ShardOffset, json_object, show_value
from kinesis_credentials import Advice

_PLAIN_VERSION, _PACKED_VERSION = 1, 2
OFFSET_VERSIONS = (_PLAIN_VERSION, _PACKED_VERSION)
OFFSET_VERSIONS_TEXT = " and ".join(map(str, OFFSET_VERSIONS))
"""The versions that this release reads, and what errors say of them."""
MAX_PLAIN_SHARDS = 200
"""A stream with more shards is packed."""

FIELDS = frozenset({"version", "streams"})
_PLAIN_FIELDS = frozenset({"created", "retention", "shards"})
STREAM_FIELDS = {_PLAIN_VERSION: _PLAIN_FIELDS, _PACKED_VERSION: _PLAIN_FIELDS | {"packed"}}
"""The fields of an offset, and of its streams in each version."""

T = TypeVar("T")

_OLDEST = ShardOffset(TrimHorizon())


@frozen
class StreamOffset:
    """The offsets of the shards of one stream. The creation time shows whether the stream was recreated since."""

    created_ms: int
    shards: Mapping[str, ShardOffset] = field(factory=dict)
    kept_hours: int | None = None
    """For how many hours records had certainly been kept when the offset was written. None in offsets of older releases."""

    def started(self, shard_id: str) -> ShardOffset:
        """Return how far a shard was read. A shard that is not in the offset yet begins at its oldest record."""
        found = self.shards.get(shard_id, _OLDEST)
        is_either = self.kept_hours is None and found.names_seen_record  # older releases did not tell
        return evolve(found, was_empty=True) if is_either else found

    def finished(self) -> set[str]:
        """Return the shards that are read to their end."""
        return {
            shard_id
            for shard_id, shard_offset in self.shards.items()
            if isinstance(shard_offset.cut, ShardEnd)
        }

    def closed(self) -> set[str]:
        """
        Return the finished shards whose end was seen: they have a time.

        The other finished ones were given as SHARD_END by the user, who leaves them out.
        """
        return {
            shard_id
            for shard_id, shard_offset in self.shards.items()
            if isinstance(shard_offset.cut, ShardEnd) and shard_offset.arrived_ms is not None
        }


@frozen
class Offset:
    """The offsets of all streams, by the name or ARN that the user gave."""

    streams: Mapping[str, StreamOffset]

    def to_json(self, max_shards: float = MAX_PLAIN_SHARDS) -> dict[str, Any]:
        """
        Return the JSON-ready form. Equal offsets give equal text, because Spark compares the texts.

        A stream that has more than *max_shards* is packed.
        """
        streams = {name: _stream_to_json(stream, max_shards) for name, stream in sorted(self.streams.items())}
        is_packed = any("packed" in stream for stream in streams.values())
        return {"version": _PACKED_VERSION if is_packed else _PLAIN_VERSION, "streams": streams}

    @staticmethod
    def from_json(value: Any) -> Offset:
        """
        Return the offset that *value*, parsed JSON, holds.

        Raises:
            OffsetError: It has another version or an unknown field, or is damaged. The message names the part.
        """
        version = value.get("version") if isinstance(value, dict) else None
        if type(version) is not int or version not in OFFSET_VERSIONS:  # true and 1.0 equal 1 as well
            raise OffsetError(
                f"The saved offset has version {show_value(version)}; this release reads versions {OFFSET_VERSIONS_TEXT}. "
                "Use the release that wrote it, or begin anew.",
                advice=Advice.START_ANEW,
            )
        unknown = _unknown_field(value, STREAM_FIELDS[version])
        if unknown is not None:
            raise OffsetError(
                f"The saved offset has the field {unknown}, which this release does not know. Use the release that wrote it, unless "
                "somebody added the field.",
                advice=Advice.RESTORE,
            )
        try:
            streams = json_object(value.get("streams"), "'streams' is")
            return Offset({name: _part(name, _stream_from_json, stream) for name, stream in streams.items()})
        except OffsetError as error:
            raise OffsetError(f"The saved offset is damaged ({error}).", advice=Advice.RESTORE) from error


def _unknown_field(value: dict[str, Any], stream_fields: Collection[str]) -> str | None:
    """Return the first field that its version does not have, and where it is: it may change what the others mean."""
    parts: list[tuple[str, Any, Collection[str]]] = [("", value, FIELDS)]
    for name, stream in _fields(value.get("streams")):
        parts.append((f"{show_value(name)}: ", stream, stream_fields))
        for shard_id, shard in _fields(dict(_fields(stream)).get("shards")):
            parts.append((f"{show_value(name)}: {show_value(shard_id)}: ", shard, SHARD_FIELDS))
    unknown = (
        where + show_value(name)
        for where, part, known in parts
        for name, _ in _fields(part)
        if name not in known
    )
    return next(unknown, None)


def _fields(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the fields of a JSON object. Another value has none; where an object is needed, it is refused later."""
    return value.items() if isinstance(value, dict) else ()


def _part(name: str, parse: Callable[[Any], T], value: Any) -> T:
    """Return what *parse* makes of the part of an offset that has this name."""
    try:
        return parse(value)
    except OffsetError as error:
        raise OffsetError(f"{name}: {error}") from error


def _stream_to_json(stream: StreamOffset, max_shards: float) -> dict[str, Any]:
    value: dict[str, Any] = {"created": stream.created_ms}
    if stream.kept_hours is not None:
        value["retention"] = stream.kept_hours
    if len(stream.shards) > max_shards:
        with suppress(OverflowError):  # of values that AWS never has
            return {**value, "packed": pack_shards(stream.shards)}
    value["shards"] = {shard_id: stream.shards[shard_id].to_json() for shard_id in sorted(stream.shards)}
    return value


def _stream_from_json(value: Any) -> StreamOffset:
    stream = json_object(value)
    created, kept_hours = stream.get("created"), stream.get("retention")
    if type(created) is not int:
        raise OffsetError(f"'created' is {show_value(created)}, not a number of milliseconds")
    if kept_hours is not None and not (type(kept_hours) is int and kept_hours > 0):
        raise OffsetError(f"'retention' is {show_value(kept_hours)}, not a number of hours")
    return StreamOffset(created, _shards_from_json(stream), kept_hours)


def _shards_from_json(stream: dict[str, Any]) -> dict[str, ShardOffset]:
    if "packed" not in stream:
        shards = json_object(stream.get("shards"), "'shards' is")
        return {shard_id: _part(shard_id, ShardOffset.from_json, shard) for shard_id, shard in shards.items()}
    if "shards" in stream:
        raise OffsetError("it has both 'shards' and 'packed'")
    return unpack_shards(stream["packed"])
