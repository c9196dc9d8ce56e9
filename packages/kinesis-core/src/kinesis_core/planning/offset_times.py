"""The time of a shard offset: no record after its cut arrived before it. It shows whether records may have left unread."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from kinesis_core.errors import OffsetError
from kinesis_core.model import HOUR_MS, AtTimestamp, Listing, ShardEnd, ShardOffset, StreamOffset, show_time
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_credentials import Advice

TIME_MARGIN_MS = 60_000
"""How far ahead of the service's clock a start may be. Kinesis has no record of that time, and records until then would be skipped."""
ARRIVAL_MARGIN_MS = HOUR_MS
"""How far ahead an arrival may be. One that is later hides for as long that records expire."""


@define
class OffsetTimes:
    """Adds times to the offsets of one stream: from what plans saw, and from parents to their children."""

    facts: StreamFacts
    states: Mapping[str, ShardState]
    oldest: Mapping[str, ShardOffset] = field(factory=dict, init=False)
    """The starts at the oldest record, when reading started in this process: nothing is promised before the first plan."""

    def started(
        self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str, listing: Listing
    ) -> ShardOffset:
        """
        Return how far a shard has been read.

        No record in it is older than the time known last of a finished parent: the shard was created when its parents ended.
        A start at a time promises what arrived since then, and none of that is older than the stream.
        """
        started, shard = start.started(shard_id), listing.get(shard_id)
        parents = shard.parents if shard else ()
        if isinstance(started.cut, ShardEnd) or not (parents or isinstance(started.cut, AtTimestamp)):
            return started
        times = [self._finished_ms(start, ends, parent) for parent in parents]
        if isinstance(started.cut, AtTimestamp) and self.oldest.get(shard_id) != started:
            times.append(max(started.cut.epoch_ms, start.created_ms))
        return started.was_empty_until(max((ms for ms in times if ms), default=None))

    def check(self, shard_id: str, started: ShardOffset) -> None:
        """
        Check that *started* has no time that is still to come.

        Raises:
            OffsetError: It has one.
        """
        if isinstance(started.cut, AtTimestamp):
            self._check(shard_id, "'AT_TIMESTAMP'", started.cut.epoch_ms, TIME_MARGIN_MS)
        self._check(shard_id, "'arrived' or 'empty_until'", started.arrived_ms, ARRIVAL_MARGIN_MS)

    def _check(self, shard_id: str, name: str, epoch_ms: int | None, margin_ms: int) -> None:
        facts = self.facts
        if epoch_ms is not None and facts.is_ahead(epoch_ms, margin_ms):
            raise OffsetError(
                f"In the saved offset of {shard_id}, {name} is {show_time(epoch_ms)}, which is later than now: the service's clock "
                f"is at {show_time(facts.api.now_ms())}.",
                advice=Advice.RESTORE,
                stream=facts.name,
                shard=shard_id,
            )

    def plausible(self, end: ShardOffset) -> ShardOffset:
        """Return *end*, without its time where a record says that it arrived long after now. It is not the service's, then."""
        is_ahead = (end.arrived_ms or 0) > self.facts.api.now_ms() + ARRIVAL_MARGIN_MS
        return evolve(end, arrived_ms=None) if is_ahead else end

    def seen(self, start: StreamOffset, shard_id: str, listing: Listing) -> ShardOffset:
        """Return how far a shard has been read, without a batch, and when it was last seen empty after that."""
        return self.stamped(self.started(start, {}, shard_id, listing).carried_over(), shard_id, listing)

    def stamped(self, started: ShardOffset, shard_id: str, listing: Listing) -> ShardOffset:
        """
        Return *started* with the time until which the shard was seen empty after it.

        A closed shard gets none: its children would inherit the time, and may have records from before it.
        """
        shard = listing.get(shard_id)
        is_closed = shard is not None and not shard.is_open
        return started if is_closed else seen(self.states.get(shard_id), started)

    def is_outdated(self, started: ShardOffset, shard_id: str, listing: Listing, stamp_ms: int) -> bool:
        """
        Return whether the time that `stamped` adds to an offset is later by *stamp_ms*, and so worth a separate batch.

        It is a few times per retention, and for the first time that is known: without it, a restarted query would be in doubt.
        """
        seen_ms = self.stamped(started, shard_id, listing).arrived_ms
        if seen_ms is None or seen_ms == started.arrived_ms:
            return False
        return seen_ms - (started.arrived_ms or 0) > stamp_ms

    def _finished_ms(self, start: StreamOffset, ends: Mapping[str, ShardOffset], shard_id: str) -> int | None:
        """Return the time of a finished shard; None for others, and where no time is known."""
        end = ends.get(shard_id, start.shards.get(shard_id))
        if end is not None and end.cut == ShardEnd():
            return end.arrived_ms
        state = self.states.get(shard_id)
        is_ended = state is not None and state.is_ended(start.started(shard_id).cut)
        return state.evidence.promised_ms if state is not None and is_ended else None


def seen(state: ShardState | None, started: ShardOffset) -> ShardOffset:
    """
    Return *started* with a later time before which nothing after it arrived, if one is known.

    Without it, the first record after a silence longer than the retention would look like the rest of many.
    """
    return started if state is None else started.was_empty_until(state.empty_until_ms(started.cut))


def closed(end: ShardOffset, started: ShardOffset) -> ShardOffset:
    """Return the end of a shard that was found closed, with a time; 0 if none is known. A shard that a user calls finished has no time."""
    ended_ms = max(end.arrived_ms or 0, started.arrived_ms or 0)
    return evolve(end, cut=ShardEnd(), arrived_ms=ended_ms, was_empty=False)
