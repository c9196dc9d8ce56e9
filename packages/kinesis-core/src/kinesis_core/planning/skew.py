"""
Skew: how far the shards of a batch are apart in time.

Spark's watermark follows the latest time in a batch, and drops rows that come later with an earlier time. Where a limit ends one
shard hours before its tip, the others must not go far beyond the time that it has reached. So a batch ends at about the same time
in all shards of all streams: the time that the slowest shard has reached, plus the skew that the user allows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from attrs import define, evolve, field

from kinesis_core.clock import Clock
from kinesis_core.errors import ThrottledError
from kinesis_core.model import After, At, AtTimestamp, ShardEnd, ShardOffset, is_before
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.shares import NOTHING, Need, ShardKey
from kinesis_core.planning.stream_planner import Draft, StreamPlanner
from kinesis_core.shards import VISIT_PAGES

HELD_S = 60.0
"""
How long a shard without records holds the others at the time that it has reached. Its calls may be refused, or it is in a gap.
Throttles in a row end sooner as a rule.
"""


@define
class Skew:
    """Ends the shards of all streams at about the same time. It keeps for how long shards have held the others."""

    streams: Mapping[str, StreamPlanner]
    limit_ms: float
    """The time that the shards of a batch may be apart. Infinite where the user sets no limit."""
    clock: Clock
    _held: dict[ShardKey, tuple[float, float]] = field(factory=dict, init=False)
    """For each shard that brings nothing: since when its records are unread, in ms, and when it began to hold the others, in s."""

    def reach_ms(self, began_ms: int) -> float:
        """
        Return the time up to which a plan that begins at *began_ms* looks for records.

        The plan of thousands of shards takes longer than shards may be apart. Without this, the shards that it comes to first would
        hold all others. The rest of the limit is for shards whose next record comes later than that.
        """
        return began_ms + self.limit_ms / 2

    def needs(self, drafts: Mapping[str, Draft]) -> dict[ShardKey, Need]:
        """Return what all shards need that may be read now. Those whose next records have to wait for others need nothing."""
        needs = {
            (n, s): need
            for n, planner in self.streams.items()
            for s, need in planner.needs(drafts[n]).items()
        }
        begin_ms = {(n, s): self._begins_ms(drafts[n], n, s) for n, s in needs}
        holding_ms = (ms for key, ms in begin_ms.items() if not self._is_over(key, ms))
        held_ms = min(holding_ms, default=float("inf")) + self.limit_ms
        return {key: NOTHING if begin_ms[key] > held_ms else need for key, need in needs.items()}

    def hold(self, drafts: Mapping[str, Draft], now_ms: int) -> Mapping[str, Draft] | None:
        """
        Return *drafts* without records that are too far ahead of those that any shard leaves unread.

        None if shards that were left out would hold others, so that they have to be planned first.
        """
        latest = max(
            (latest_ms(end) for draft in drafts.values() for end in draft.ends.values()), default=0.0
        )
        before_ms = min(latest, now_ms) - self.limit_ms
        if before_ms <= 0:
            return drafts
        behind = {
            (n, s): ms for n, draft in drafts.items() for s, ms in self._behind(n, draft, before_ms).items()
        }
        if any(s in self.streams[n].states.turns.left for n, s in behind):
            return None
        held_ms = float("inf")
        while (until_ms := self._until_ms(behind, drafts)) < held_ms:
            held_ms = until_ms
            holding = {key for key, since_ms in behind.items() if since_ms + self.limit_ms <= until_ms}
            for name, draft in drafts.items():
                held, unknown = self._cut(name, draft, until_ms, {s for n, s in holding if n == name})
                drafts = {**drafts, name: held}
                # The shards that could not be cut hold the others where they are.
                behind.update(((name, s), ms) for s, ms in unknown.items())
        return drafts

    def _behind(self, name: str, draft: Draft, before_ms: float) -> dict[str, float]:
        """Return the shards that the batch of *draft* leaves with unread records from before a time, and since when those are."""
        planner, since_ms = self.streams[name], dict[str, float | None]()
        for shard_id, end in draft.ends.items():
            target = planner.targets[shard_id].cut if planner.targets else None
            # What follows a target is read by another run, but for the children of a closed shard.
            if (end.arrived_ms or 0) < before_ms and (end.cut != target or target == ShardEnd()):
                shard = planner.listing.get(shard_id)
                is_open = shard is None or shard.is_open
                since_ms[shard_id] = unread_since_ms(planner.states.of(shard_id), end, is_open=is_open)
        for shard_id in planner.left(draft):
            if shard_id not in draft.ends:
                since_ms[shard_id] = self._begins_ms(draft, name, shard_id)
        return {s: ms for s, ms in since_ms.items() if ms is not None and ms < before_ms}

    def _begins_ms(self, draft: Draft, name: str, shard_id: str) -> int:
        """Return a time before which no record arrived in a shard after its start, nor in its children; 0 where none is known."""
        planner = self.streams[name]
        started = planner.times.stamped(planner.started(draft, shard_id), shard_id, planner.listing)
        return begins_ms(planner.states.found.get(shard_id), started)

    def _until_ms(self, behind: Mapping[ShardKey, float], drafts: Mapping[str, Draft]) -> float:
        """
        Return the time by which all shards end; infinite where none is held.

        *behind* has the shards that leave records from so early unread that others have to wait for them.
        """
        until_ms = float("inf")
        for key, since_ms in behind.items():
            stream, shard_id = key
            if shard_id in drafts[stream].ends:
                self._held.pop(key, None)
            elif key not in self._held or self._held[key][0] < since_ms:
                self._held[key] = since_ms, self.clock.now_s()
            if not self._is_over(key, since_ms):
                until_ms = min(until_ms, since_ms + self.limit_ms)
        return until_ms

    def _is_over(self, key: ShardKey, since_ms: float) -> bool:
        """Return whether a shard has held the others at a time for as long as it may."""
        if key not in self._held:
            return False
        held_ms, began_s = self._held[key]
        return since_ms <= held_ms and self.clock.now_s() - began_s > HELD_S

    def _cut(
        self, name: str, draft: Draft, until_ms: float, holding: Collection[str]
    ) -> tuple[Draft, dict[str, float]]:
        """
        Return *draft* without the records that arrived after *until_ms*.

        A shard that is *holding* the others at that time keeps its end if it would otherwise have no record. Its arrival times
        are out of order, and it would hold itself for ever. Also return the shards whose end could not be found, as `_behind`
        does: they are left for the next plan.
        """
        planner, unknown = self.streams[name], dict[str, float]()
        late = [s for s, end in draft.ends.items() if latest_ms(end) > until_ms]
        started = {s: planner.started(draft, s) for s in late}

        def plan(state: ShardState, begin: ShardOffset) -> ShardOffset:
            end = None
            with suppress(ThrottledError):
                end = cut_at(state, begin, draft.ends[state.shard_id], int(until_ms))
            if end is None:
                unknown[state.shard_id] = begins_ms(state, begin)
            return end or begin

        def cut(shard_id: str) -> ShardOffset | None:
            return planner.plan_shard(planner.states.of(shard_id), started[shard_id], plan)

        cuts = dict(zip(late, planner.run_all(cut, late), strict=True))
        ends = dict(draft.ends)
        for shard_id, end in cuts.items():
            if end is None or end is started[shard_id]:
                if shard_id in unknown or shard_id not in holding:
                    del ends[shard_id]
                    planner.rest(shard_id)
            else:
                ends[shard_id] = planner.times.plausible(end)
        return evolve(draft, ends=ends), unknown


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
