"""The time of a position: no record behind it arrived before. It says whether records may have left the stream unread."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from kinesis_core.model import AtTimestamp, Listing, ShardEnd, ShardOffset, StreamOffset
from kinesis_core.planning.data_loss import DataLoss
from kinesis_core.planning.shard_state import ShardState


@define
class PositionTimes:
    """Gives positions of one stream their times, from what plans saw and from what parents tell of their children."""

    loss: DataLoss
    views: Mapping[str, ShardState]
    initial: Mapping[str, ShardOffset] = field(factory=dict, init=False)
    """Where reading begins, when it began here: nothing is promised before the first plan."""

    def started(
        self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str, listing: Listing
    ) -> ShardOffset:
        """
        Return how far a shard has been read.

        Nothing in it is older than what was last known of a finished parent: it was born when the parents ended.
        """
        started, shard = start.started(shard_id), listing.get(shard_id)
        if started.cut == ShardEnd():
            return started
        times = [
            started.arrived_ms,
            *(self._finished_ms(start, ends, s) for s in (shard.parents if shard else ())),
        ]
        if isinstance(started.cut, AtTimestamp) and self.initial.get(shard_id) != started:
            times.append(started.cut.epoch_ms)
        known_ms = max((ms for ms in times if ms), default=started.arrived_ms)
        return started if known_ms == started.arrived_ms else evolve(started, arrived_ms=known_ms)

    def seen(self, start: StreamOffset, shard_id: str, listing: Listing) -> ShardOffset:
        """Return how far a shard has been read, without a batch, and when it was last seen to have nothing behind that."""
        started = self.started(start, {}, shard_id, listing).carried_over()
        return self.loss.seen(self.views.get(shard_id), started)

    def _finished_ms(self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str) -> int | None:
        """Return the time of a shard that is finished; None for others, and where none is known."""
        shard_offset = ends.get(shard_id, start.shards.get(shard_id))
        if shard_offset is not None and shard_offset.cut == ShardEnd():
            return shard_offset.arrived_ms
        view = self.views.get(shard_id)
        is_ended = view is not None and view.is_ended(start.started(shard_id).cut)
        return view.promised_ms if view is not None and is_ended else None


def closed(end: ShardOffset, started: ShardOffset) -> ShardOffset:
    """Return the end of a shard that was found closed, with a time, 0 if none is known. One that a user calls finished has none."""
    return evolve(end, cut=ShardEnd(), arrived_ms=max(end.arrived_ms or 0, started.arrived_ms or 0))
