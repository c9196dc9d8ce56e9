"""Starting and ending positions as values: the points in a stream where users begin and end reading."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attrs import field, frozen

from kinesis_core.errors import OptionError
from kinesis_core.model.cuts import After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon
from kinesis_credentials.advice import Advice, Setting

CLOCK_MARGIN_MS = 2000
"""
How far behind our own clock the service's clock is assumed to be before its first response. A time that is further ahead than that
is in the future.
"""


@frozen
class Latest:
    """The tip of each shard: after its newest record at the moment when the batch is planned."""

    def __str__(self) -> str:
        return "LATEST"


@frozen
class PerShard:
    """
    A position for each shard, by its id: `PerShard({"shardId-000000000000": After(4966...)})`.

    As a start: the ancestors of a shard that is named here count as read. Any other shard that is not named begins at its oldest
    record. As an end: a shard that is not named is read to its tip.
    """

    cuts: Mapping[str, Cut | Latest]


@frozen
class ForeignCheckpoint:
    """
    The checkpoint of another connector, for one stream. It has a position for every shard that was not read to its end.

    So the ancestors of a shard that is named here count as read, and its descendants begin at their oldest record. The position of
    any other shard is unknown.
    """

    cuts: Mapping[str, Cut | Latest]
    """The positions by shard id."""
    stream: str | None = None
    """The stream's name; None when the checkpoint does not hold it."""


@frozen
class KclApplication:
    """
    The position of an application of the Kinesis Client Library (KCL), from its lease table.

    The table is read once, when reading starts. It becomes a `ForeignCheckpoint` for each stream.
    """

    table: str
    """The name of the lease table: the name of the application, unless the application sets another one."""
    region: str | None = None
    """The region of the table. None: the region of the connection."""
    cuts: Mapping[str, Cut | Latest] = field(factory=dict)
    """Positions by shard id that the user gives. They take precedence over the table."""


@frozen
class PerStream:
    """A position per stream, by the stream's name or ARN."""

    positions: Mapping[
        str, Latest | TrimHorizon | AtTimestamp | PerShard | ForeignCheckpoint | KclApplication
    ]


OneStreamStart = Latest | TrimHorizon | AtTimestamp | PerShard | ForeignCheckpoint
StartingPosition = OneStreamStart | KclApplication | PerStream
EndingPosition = Latest | AtTimestamp | PerShard | PerStream


def position_in(
    stream: str, streams: Collection[str], position: StartingPosition, setting: Setting
) -> OneStreamStart | KclApplication:
    """
    Return the part of *position* that applies to *stream*, one of the *streams* that are read.

    Streams are given by name or ARN. *position* is the value of *setting*.

    Raises:
        OptionError: *position* has no entry for *stream*, or has entries for streams that are not read.
    """
    found = position
    if isinstance(position, PerStream):
        found = _chosen(stream, streams, position, setting)
    if isinstance(found, ForeignCheckpoint) and found.stream not in (None, stream, _name(stream)):
        raise OptionError(
            f"is the checkpoint of stream '{found.stream}'; the stream to read is '{stream}'.", about=setting
        )
    if found is position and len(streams) > 1 and _names_shards(found):
        raise OptionError(
            f"accepts positions by shard for one stream only; got {len(streams)} streams, whose shards have the same ids. "
            f'Give them by stream: {{"{stream}": {{...}}, ...}}.',
            about=setting,
        )
    return found  # type: ignore[return-value] # a PerStream holds no other PerStream


def _names_shards(position: StartingPosition) -> bool:
    is_map = isinstance(position, (PerShard, ForeignCheckpoint))
    return is_map or (isinstance(position, KclApplication) and bool(position.cuts))


def _chosen(stream: str, streams: Collection[str], position: PerStream, setting: Setting) -> StartingPosition:
    unknown = sorted(set(position.positions) - {known for s in streams for known in (s, _name(s))})
    if unknown:
        raise OptionError(
            f"names streams that are not read: {', '.join(unknown)}. Those to read are {', '.join(sorted(streams))}.",
            about=setting,
        )
    found = position.positions.get(stream) or position.positions.get(_name(stream))
    if found is None:
        raise OptionError(f"has positions by stream, but no position for '{stream}'. Add one.", about=setting)
    return found


def check_times(streams: Collection[str], start: StartingPosition, end: EndingPosition) -> None:
    """
    Check before any call that a read of *streams* does not start at a later time than it ends.

    `Planner.end_offset` checks everything else: shards can have positions of their own, and their ids are not known yet.

    Raises:
        OptionError: In every stream all shards start after their end.
    """
    for stream in streams:
        first = position_in(stream, streams, start, Setting.START)
        last = position_in(stream, streams, end, Setting.END)
        if not (isinstance(first, AtTimestamp) and isinstance(last, AtTimestamp) and is_past(first, last)):
            return
    raise order_error(str(first), str(last), stream=stream)


def order_error(start: str, end: str, **where: Any) -> OptionError:
    """Return the error of a read that starts after its end."""
    what = f"The start of the read, {start}, is after its end, {end}."
    return OptionError(what, advice=Advice.CHANGE_ORDER, **where)


def is_past(start: Cut | Latest, end: Cut | Latest) -> bool:
    """Return whether *start* is after *end*, as far as the two cuts of one shard alone tell."""
    match start, end:
        case AtTimestamp(start_ms), AtTimestamp(end_ms):
            return start_ms > end_ms
        case ShardEnd(), At():
            return True  # while AFTER the last record of a closed shard is its end
        case ((At() | After()), (At() | After())):
            return (start.number, isinstance(start, After)) > (end.number, isinstance(end, After))
        case _:
            return False


def begins_inside_aggregates(position: StartingPosition) -> bool:
    """Return whether any shard begins inside an aggregate, after some of its user records."""
    match position:
        case PerShard(cuts) | ForeignCheckpoint(cuts):
            return any(isinstance(cut, At) and cut.skip > 0 for cut in cuts.values())
        case PerStream(positions):
            return any(begins_inside_aggregates(each) for each in positions.values())
        case _:
            return False


def names_applications(position: StartingPosition) -> bool:
    """Return whether *position* is that of a KCL application in any stream."""
    parts = position.positions.values() if isinstance(position, PerStream) else [position]
    return any(isinstance(part, KclApplication) for part in parts)


def _name(stream: str) -> str:
    """Return the name of *stream*, a name or an ARN."""
    return stream.rpartition("/")[2]
