"""The places in a stream, as values, that users may name to begin or end at."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

from kinesis_core.errors import OptionError
from kinesis_core.model.cuts import At, AtTimestamp, Cut, TrimHorizon


@frozen
class Latest:
    """Behind the newest record at the moment of planning."""


@frozen
class PerShard:
    """
    A position for each shard by its id.

    Of the shards that are not named, the ancestors of named ones count as read, and any other begins with its
    oldest record; as an end, an unnamed shard is read to its tip.
    """

    cuts: Mapping[str, Cut | Latest]


@frozen
class ForeignCheckpoint:
    """
    Where another connector stood in one stream, by shard id: it names every shard that was not read to its end.

    So of the shards that are not named, ancestors of named ones count as read, and descendants begin with their
    oldest record; of any other it cannot be told.
    """

    cuts: Mapping[str, Cut | Latest]
    stream: str | None = None
    """The stream's name, where the checkpoint says it."""


@frozen
class PerStream:
    """A position for each stream, by its name or ARN."""

    positions: Mapping[str, Latest | TrimHorizon | AtTimestamp | PerShard | ForeignCheckpoint]


OneStreamStart = Latest | TrimHorizon | AtTimestamp | PerShard | ForeignCheckpoint
StartingPosition = OneStreamStart | PerStream
EndingPosition = Latest | AtTimestamp | PerShard | PerStream


def position_in(
    stream: str, streams: Collection[str], position: StartingPosition, option: str
) -> OneStreamStart:
    """
    Return what *position*, the value of *option*, means in *stream*, one of all the *streams* that are read.

    Streams go by name or ARN; *option* is how an error calls the option.

    Raises:
        OptionError: It says nothing of this stream, or of streams that are not read.
    """
    found = position
    if isinstance(position, PerStream):
        found = _chosen(stream, streams, position, option)
    if isinstance(found, ForeignCheckpoint) and found.stream not in (None, stream, _name(stream)):
        raise OptionError(
            f"{option} is the checkpoint of stream '{found.stream}'; the query reads '{stream}'."
        )
    if isinstance(found, (PerShard, ForeignCheckpoint)) and found is position and len(streams) > 1:
        raise OptionError(
            f"{option} accepts positions by shard for one stream only; got {len(streams)} streams, whose shards have the "
            f'same ids. Give them by stream: {{"{stream}": {{...}}, ...}}.'
        )
    return found  # type: ignore[return-value] # what stands in a PerStream is none


def _chosen(stream: str, streams: Collection[str], position: PerStream, option: str) -> StartingPosition:
    strange = sorted(set(position.positions) - {known for s in streams for known in (s, _name(s))})
    if strange:
        raise OptionError(
            f"{option} names streams that the query does not read: {', '.join(strange)}. "
            f"It reads {', '.join(sorted(streams))}."
        )
    found = position.positions.get(stream) or position.positions.get(_name(stream))
    if found is None:
        raise OptionError(f"{option} gives positions by stream, and none for '{stream}'.")
    return found


def begins_inside_aggregates(position: StartingPosition) -> bool:
    """Return whether any shard begins behind some of the user records of an aggregate."""
    match position:
        case PerShard(cuts) | ForeignCheckpoint(cuts):
            return any(isinstance(cut, At) and cut.skip > 0 for cut in cuts.values())
        case PerStream(positions):
            return any(begins_inside_aggregates(each) for each in positions.values())
        case _:
            return False


def _name(stream: str) -> str:
    """Return the name of a stream that may be given as an ARN."""
    return stream.rpartition("/")[2]
