"""What a reader's positions mean for the shards that the stream has now: which are measured, from where, and which are not."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from attrs import frozen

from kinesis_cli.lag.readings import Position, Reading
from kinesis_cli.lag.results import ShardLag, State

if TYPE_CHECKING:
    from kinesis_core import Cut
    from kinesis_core.model import Listing

_NO_START = "The reader has read nothing here, and does not say when it began."
_GONE = "Kinesis no longer lists the shard: it expired, and the reader had not finished it."
_NO_POSITION = "The reader has no position here, nor in a parent or a child."


@frozen
class Measurement:
    """One shard to measure for one reader."""

    shard_id: str
    cut: Cut
    position: Position
    waits: bool = False
    """Whether the reader has to finish a parent first."""

    def shard_lag(self, state: State, lag_ms: int | None, note: str) -> ShardLag:
        return self.position.shard_lag(self.shard_id, state, lag_ms, note)


def apply_positions(reading: Reading, listing: Listing) -> tuple[list[Measurement], list[ShardLag]]:
    """
    Return the shards to measure, and the state of those that need no measurement.

    A shard without a position was read to its end if a descendant has one: queries and applications drop finished shards. It begins at
    its oldest record if an ancestor has one. A query that has no position at all begins so in all shards.
    """
    from kinesis_core.model import ShardEnd, ancestors

    positions = reading.positions
    finished = {shard for shard, position in positions.items() if position.cut == ShardEnd()}
    passed = ancestors(positions, listing) - set(positions)
    following = _descendants(positions, listing) if positions else set(listing)
    measured: list[Measurement] = []
    settled = [
        position.shard_lag(shard_id, State.GONE, None, _GONE)
        for shard_id, position in positions.items()
        if shard_id not in listing and shard_id not in finished
    ]
    for shard_id in listing:
        position = positions.get(shard_id) or _unnamed(shard_id, passed, following)
        found = _settle(shard_id, position, listing, finished | passed)
        if isinstance(found, Measurement):
            measured.append(found)
        else:
            settled.append(found)
    return measured, settled


def _settle(
    shard_id: str, position: Position, listing: Listing, finished: Collection[str]
) -> Measurement | ShardLag:
    from kinesis_core import AtTimestamp, Latest, ShardEnd, TrimHorizon
    from kinesis_core.model import waits_for

    match position.cut:
        case ShardEnd():
            return position.shard_lag(shard_id, State.FINISHED, 0)
        case None | Latest():
            note = _NO_START if position.shown else _NO_POSITION
            return position.shard_lag(shard_id, State.UNKNOWN, None, note)
        case cut:
            is_unread = isinstance(cut, (TrimHorizon, AtTimestamp))
            waits = is_unread and bool(waits_for(listing[shard_id], listing, finished))
            return Measurement(shard_id, cut, position, waits)


def _unnamed(shard_id: str, passed: Collection[str], following: Collection[str]) -> Position:
    from kinesis_core import ShardEnd, TrimHorizon

    if shard_id in passed:
        return Position(ShardEnd(), "SHARD_END")
    if shard_id in following:
        return Position(TrimHorizon(), "TRIM_HORIZON")
    return Position(None, "")


def _descendants(shard_ids: Collection[str], listing: Listing) -> set[str]:
    """Return all listed children, grandchildren and so on of *shard_ids*, which need not be listed themselves."""
    from kinesis_core.model import index_children

    children = index_children(listing)
    found: set[str] = set()
    waiting = list(shard_ids)
    while waiting:
        fresh = {child.shard_id for child in children.get(waiting.pop(), ())} - found
        found |= fresh
        waiting.extend(fresh)
    return found
