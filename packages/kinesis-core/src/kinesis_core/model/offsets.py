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
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from reprlib import Repr
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kinesis_core.errors import OffsetError
from kinesis_core.model.cuts import LAST_EPOCH_MS, After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon
from kinesis_credentials import Advice


@frozen
class Estimate:
    """The estimated number and age of the records that a batch takes from one shard."""

    records: int
    """
    The approximate number of records, where an aggregate counts as one. The first records are counted, the others are
    estimated from the shard's rate.
    """
    age_ms: int | None
    """Milliseconds between the arrival of the first record and the plan; None when Kinesis reports no arrival time."""


OFFSET_VERSION = 1

FIELDS = frozenset({"version", "streams"})
STREAM_FIELDS = frozenset({"created", "retention", "shards"})
SHARD_FIELDS = frozenset(
    {"TRIM_HORIZON", "AT_TIMESTAMP", "AT", "AFTER", "SHARD_END"}
    | {"skip", "arrived", "empty_until", "first", "first_skip"}
)
"""The fields of an offset of this version, of its streams and of their shards."""

T = TypeVar("T")

_short = Repr()
_short.maxstring = 160
_show = _short.repr
"""Shortens a value for an error message, however large or deeply nested it is."""


@frozen
class ShardOffset:
    """How far one shard was read, and the first record of the batch that ends here."""

    cut: Cut
    arrived_ms: int | None = None
    """
    No record after the cut arrived before this time, in milliseconds since the epoch. It is the arrival time of the record
    that the cut names, or another time as `was_empty` says. When it is older than the retention, records after the cut may
    be lost. None when no such time is known.
    """
    first: int | None = None
    """Number of the first record of the batch that ends here; None when the batch has no record of this shard."""
    first_skip: int = 0
    """How many user records of `first` the batch leaves out, because they were read before the query began."""
    estimate: Estimate | None = field(default=None, eq=False, repr=False)
    """The plan's estimate of the records from `first` to the cut. It is not saved, and does not count in comparisons."""
    was_empty: bool = False
    """Whether `arrived_ms` is not the arrival of a record, but a time until which nothing had arrived after the cut."""

    def carried_over(self) -> ShardOffset:
        """Return the same cut as the end of a later batch that has no record of this shard."""
        if self.first is None:
            return self
        return ShardOffset(self.cut, self.arrived_ms, was_empty=self.was_empty)

    def was_empty_until(self, until_ms: int | None) -> ShardOffset:
        """Return the same cut with the time *until_ms*, which is not the arrival of its record, unless it has a later one."""
        if until_ms is None or until_ms <= (self.arrived_ms or 0):
            return self
        # Plans call this several times for each shard, and evolve takes four times as long.
        return ShardOffset(self.cut, until_ms, self.first, self.first_skip, self.estimate, was_empty=True)

    @property
    def names_seen_record(self) -> bool:
        """Whether the cut names a record that was in the stream, and `arrived_ms` is its arrival."""
        return isinstance(self.cut, (At, After)) and self.arrived_ms is not None and not self.was_empty

    def as_end_from(self, start: Cut) -> ShardOffset:
        """Return this end with the `first_skip` of a batch that begins at *start*."""
        skip = start.skip if isinstance(start, At) and start.number == self.first else 0
        return evolve(self, first_skip=skip)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-ready form, as in the module's example."""
        value = _cut_to_json(self.cut)
        if self.arrived_ms is not None:
            value["empty_until" if self.was_empty else "arrived"] = self.arrived_ms
        if self.first is not None:
            value["first"] = str(self.first)
        if self.first_skip:
            value["first_skip"] = self.first_skip
        return value

    @staticmethod
    def from_json(value: Any) -> ShardOffset:
        """
        Return the shard offset that *value* holds.

        Raises:
            OffsetError: It is damaged.
        """
        rest = dict(_object(value))
        time_key = "empty_until" if "empty_until" in rest else "arrived"
        time_ms = rest.pop(time_key, None)
        first = rest.pop("first", None)
        first_skip = 0 if first is None else _skip(rest.pop("first_skip", 0))
        if time_ms is not None and not _is_time(time_ms):
            raise OffsetError(f"'{time_key}' is {_show(time_ms)}, not a number of milliseconds")
        return ShardOffset(
            _cut_from_json(rest),
            time_ms,
            None if first is None else _number(first),
            first_skip,
            was_empty=time_ms is not None and time_key == "empty_until",
        )


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
        return {shard_id for shard_id in self.finished() if self.shards[shard_id].arrived_ms is not None}


@frozen
class Offset:
    """The offsets of all streams, by the name or ARN that the user gave."""

    streams: Mapping[str, StreamOffset]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-ready form. Equal offsets give equal text, because Spark compares the texts."""
        return {
            "version": OFFSET_VERSION,
            "streams": {name: _stream_to_json(stream) for name, stream in sorted(self.streams.items())},
        }

    @staticmethod
    def from_json(value: Any) -> Offset:
        """
        Return the offset that *value*, parsed JSON, holds.

        Raises:
            OffsetError: It has another version or an unknown field, or is damaged. The message names the part.
        """
        version = value.get("version") if isinstance(value, dict) else None
        if type(version) is not int or version != OFFSET_VERSION:  # true and 1.0 equal 1 as well
            raise OffsetError(
                f"The saved offset has version {_show(version)}; this release reads version {OFFSET_VERSION}. Use the release that wrote it, or begin anew.",
                advice=Advice.START_ANEW,
            )
        unknown = _unknown_field(value)
        if unknown is not None:
            raise OffsetError(
                f"The saved offset has the field {unknown}, which this release does not know. Use the release that wrote it, unless "
                "somebody added the field.",
                advice=Advice.RESTORE,
            )
        try:
            streams = _object(value.get("streams"), "'streams' is")
            return Offset({name: _part(name, _stream_from_json, stream) for name, stream in streams.items()})
        except OffsetError as error:
            raise OffsetError(f"The saved offset is damaged ({error}).", advice=Advice.RESTORE) from error


def _unknown_field(value: dict[str, Any]) -> str | None:
    """Return the first field that this version does not have, and where it is: it may change what the others mean."""
    parts: list[tuple[str, Any, Collection[str]]] = [("", value, FIELDS)]
    for name, stream in _fields(value.get("streams")):
        parts.append((f"{_show(name)}: ", stream, STREAM_FIELDS))
        for shard_id, shard in _fields(dict(_fields(stream)).get("shards")):
            parts.append((f"{_show(name)}: {_show(shard_id)}: ", shard, SHARD_FIELDS))
    unknown = (
        where + _show(name) for where, part, known in parts for name, _ in _fields(part) if name not in known
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


def _object(value: Any, what: str = "it is") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OffsetError(f"{what} {_show(value)}, not a JSON object")
    return value


def _stream_to_json(stream: StreamOffset) -> dict[str, Any]:
    value: dict[str, Any] = {"created": stream.created_ms}
    if stream.kept_hours is not None:
        value["retention"] = stream.kept_hours
    value["shards"] = {shard_id: stream.shards[shard_id].to_json() for shard_id in sorted(stream.shards)}
    return value


def _stream_from_json(value: Any) -> StreamOffset:
    stream = _object(value)
    created, kept_hours = stream.get("created"), stream.get("retention")
    if type(created) is not int:
        raise OffsetError(f"'created' is {_show(created)}, not a number of milliseconds")
    if kept_hours is not None and not (type(kept_hours) is int and kept_hours > 0):
        raise OffsetError(f"'retention' is {_show(kept_hours)}, not a number of hours")
    shards = _object(stream.get("shards"), "'shards' is")
    found = {shard_id: _part(shard_id, ShardOffset.from_json, shard) for shard_id, shard in shards.items()}
    return StreamOffset(created, found, kept_hours)


def _cut_to_json(cut: Cut) -> dict[str, Any]:
    match cut:
        case TrimHorizon():
            return {"TRIM_HORIZON": True}
        case AtTimestamp(epoch_ms):
            return {"AT_TIMESTAMP": epoch_ms}
        case At(number, skip):
            return {"AT": str(number), "skip": skip} if skip else {"AT": str(number)}
        case After(number):
            return {"AFTER": str(number)}
        case ShardEnd():
            return {"SHARD_END": True}


def _cut_from_json(value: dict[str, Any]) -> Cut:
    match value:
        case {"TRIM_HORIZON": True, **rest} if not rest:
            return TrimHorizon()
        case {"AT_TIMESTAMP": epoch_ms, **rest} if not rest and _is_time(epoch_ms):
            return AtTimestamp(epoch_ms)
        case {"AT": str(number), **rest} if not rest:
            return At(_number(number))
        case {"AT": str(number), "skip": skip, **rest} if not rest:
            return At(_number(number), _skip(skip))
        case {"AFTER": str(number), **rest} if not rest:
            return After(_number(number))
        case {"SHARD_END": True, **rest} if not rest:
            return ShardEnd()
    raise OffsetError(f"{_show(value)} is not a cut")


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LAST_EPOCH_MS


def _number(text: Any) -> int:
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 129):
        raise OffsetError(f"{_show(text)} is not a sequence number")
    return int(text)


def _skip(count: Any) -> int:
    if type(count) is not int or count < 0:
        raise OffsetError(f"{_show(count)} is not a number of user records")
    return count
