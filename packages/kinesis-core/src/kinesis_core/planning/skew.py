"""
Skew: how far the shards of a batch are apart in time.

Spark's watermark follows the latest time in a batch, and drops rows that come later with an earlier time. Where a limit ends one
shard hours before its tip, the others must not go far beyond the time that it has reached. So all shards of a batch, over all
streams, end by the time of the one that got least far, plus the skew that the user allows.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from kinesis_core.clock import Clock
from kinesis_core.model import After, At, AtTimestamp, ShardEnd, ShardOffset, StreamOffset, is_before
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.shards import VISIT_PAGES

HELD_S = 60.0
"""
How long a shard that brings no records holds the others at the time that it has reached: its calls may be refused, or it is in a
gap. Throttles in a row end sooner as a rule.
"""


@define
class Draft:
    """The plan of one stream before it is compared with those of the others."""

    start: StreamOffset
    ends: dict[str, ShardOffset] = field(factory=dict)
    """The shards that have records in the batch, and those that have left the stream."""
    is_whole: bool = True
    """Whether no shard was left for the next plan."""

    def latest_ms(self) -> float:
        """Return a time after which no record of the batch arrived, in milliseconds since the epoch; 0 if it has none."""
        return max(map(latest_ms, self.ends.values()), default=0.0)

    def joined(self, later: Draft) -> Draft:
        """Return the plan of all shards, of which *later* has those that this one left out."""
        return Draft(self.start, {**self.ends, **later.ends}, later.is_whole)


def latest_ms(end: ShardOffset) -> float:
    """
    Return the time of the last record of a batch before *end*, in milliseconds since the epoch; 0 where it has none, or no time.

    Infinite at the end of a closed shard, where it is not known.
    """
    if end.first is None:
        return 0.0
    return float("inf") if end.cut == ShardEnd() else end.arrived_ms or 0.0


def unread_since_ms(state: ShardState, end: ShardOffset, *, is_open: bool) -> int | None:
    """
    Return a time before which no record arrived that a batch leaves unread if it ends at *end*; None where no time is known.

    Records of the children of a closed shard count as its own: they come after its last one.
    """
    empty_ms = state.empty_until_ms(end.cut) if is_open else None
    return end.arrived_ms if empty_ms is None else max(empty_ms, end.arrived_ms or 0)


def begins_ms(state: ShardState | None, started: ShardOffset) -> int:
    """Return a time before which no record after *started* arrived; 0 where none is known."""
    at_ms = started.cut.epoch_ms if isinstance(started.cut, AtTimestamp) else 0
    following = None if state is None else state.evidence.next_record(started.cut)
    next_ms = None if following is None else following.arrived_ms
    return max(at_ms, started.arrived_ms or 0, next_ms or 0)


def cut_at(state: ShardState, started: ShardOffset, end: ShardOffset, until_ms: int) -> ShardOffset | None:
    """
    Return the end before the first record that arrived after *until_ms*, where that comes before *end*.

    It is *started* where the batch has no earlier record, and None where this is not known after a few calls.
    """
    since = AtTimestamp(until_ms + 1)
    page = state.page_at(since, 1, VISIT_PAGES)
    if not page.records:
        return None if page.is_in_gap else end  # arrival times are not exact
    following = page.records[0]
    if isinstance(end.cut, (At, After)) and not is_before(following.number, end.cut):
        return end
    state.ends_with(since, page)
    if end.first is not None and following.number <= end.first:
        if following.number == end.first:
            state.keep_next(started.cut, following)
        return started
    return evolve(end, cut=At(following.number), arrived_ms=following.arrived_ms)


@define
class SkewLimit:
    """The time that the shards of a batch may be apart, and for how long shards have held the others."""

    limit_ms: float
    """Infinite where the user sets no limit."""
    clock: Clock
    _held: dict[tuple[str, str], tuple[float, float]] = field(factory=dict, init=False)
    """For each shard that brings nothing: since when its records are unread, in ms, and when it began to hold the others, in s."""

    def reach_ms(self, began_ms: int) -> float:
        """
        Return the time up to which a plan that begins at *began_ms* looks for records.

        The plan of thousands of shards takes longer than shards may be apart. Without this, the shards that it comes to first would
        hold all others. The rest of the limit is for shards whose next record comes later than that.
        """
        return began_ms + self.limit_ms / 2

    def until_ms(self, behind: Mapping[tuple[str, str], float], drafts: Mapping[str, Draft]) -> float:
        """
        Return the time by which all shards end; infinite where none is held.

        *behind* has the shards, by stream and id, that leave records from so early unread that others have to wait for them.
        """
        until_ms = float("inf")
        for key, since_ms in behind.items():
            stream, shard_id = key
            if shard_id in drafts[stream].ends:
                self._held.pop(key, None)
            elif key not in self._held or self._held[key][0] < since_ms:
                self._held[key] = since_ms, self.clock.now_s()
            if not self.is_over(key, since_ms):
                until_ms = min(until_ms, since_ms + self.limit_ms)
        return until_ms

    def is_over(self, key: tuple[str, str], since_ms: float) -> bool:
        """Return whether a shard has held the others at a time for as long as it may."""
        if key not in self._held:
            return False
        held_ms, began_s = self._held[key]
        return since_ms <= held_ms and self.clock.now_s() - began_s > HELD_S
