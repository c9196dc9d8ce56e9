"""Where reading starts and, for a batch, ends: what the user's positions mean in one stream."""

from __future__ import annotations

from collections.abc import Collection

from attrs import evolve

from kinesis_core.errors import OptionError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    OneStreamStart,
    PerShard,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
    ancestors,
    is_past,
    order_error,
    show_time,
)
from kinesis_core.planning.migration import resume_from_checkpoint, verify_record
from kinesis_core.planning.shard_calls import CLOCK_MARGIN_MS
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_planner import StreamPlanner
from kinesis_core.planning.tip import plan_tip, plan_until, plan_up_to

LATEST_MARGIN_MS = 5000
"""How far before now a shard without records starts at LATEST: the next arrival time may be off by as much."""
_HOUR_MS = 3_600_000


def begin(planner: StreamPlanner, position: OneStreamStart) -> StreamOffset:
    """
    Return the offset that *position* means, in every shard of now.

    Shards discovered later start at their oldest record, so no record put after this moment is missed. A start at a time
    promises all records since then: the first plan reports those that have expired.

    Raises:
        OptionError: The position is in the future, or names a shard that does not exist, or a record of another shard.
        DataLossError: A record that it names has left the stream, and a loss stops the query.
    """
    created_ms = planner.facts.begin()
    _check_past(planner, planner.names[0], position)
    planner.discover(_unfinished(position), from_oldest=not isinstance(position, Latest))
    cuts = _cuts(planner, position)
    oldest = [s for s, cut in cuts.items() if cut == TrimHorizon()]
    if not isinstance(position, ForeignCheckpoint):
        cuts = {**cuts, **dict.fromkeys(oldest, _oldest_not_about_to_leave(planner))}
    shards = {s: ShardOffset(cut) for s, cut in cuts.items() if not isinstance(cut, Latest)}
    numbered = {s: cut for s, cut in cuts.items() if isinstance(cut, (At, After))}
    located = planner.run_all(lambda s: verify_record(planner, s, numbered[s]), numbered)
    known = {**shards, **dict(zip(numbered, located, strict=True))}
    start = StreamOffset(created_ms, known, planner.facts.hours_to_save())
    latest = [shard_id for shard_id, cut in cuts.items() if isinstance(cut, Latest)]
    start = evolve(start, shards={**start.shards, **_tips(planner, latest)}) if latest else start
    planner.times.oldest = {s: start.shards[s] for s in oldest}
    planner.discovery.is_checked = False  # only by this start, and a replay continues from another offset
    return start


def _oldest_not_about_to_leave(planner: StreamPlanner) -> Cut:
    """
    Return the start of a read from the oldest record: the earliest time whose records do not expire before they can be read.

    On a stream that is older than its retention, a batch that starts at the very oldest record cannot be read: the record expires
    while the batch is planned and its tasks start.
    """
    margin_ms = int(planner.settings.trim_horizon_margin_s * 1000)
    if not margin_ms:
        return TrimHorizon()
    now_ms = planner.api.now_ms()
    return AtTimestamp(min(now_ms, now_ms - planner.facts.retention_hours() * _HOUR_MS + margin_ms))


def late_error(
    planner: StreamPlanner, start: StreamOffset, started_at: OneStreamStart, position: OneStreamStart
) -> OptionError | None:
    """
    Return the error of a read whose shards all start after their end at *position*, or None.

    *start* is what *started_at* meant. LATEST was the time when reading started, and the last record then.
    """
    started_ms = planner.facts.started_ms

    def late_start(shard_id: str) -> str | None:
        """Return where the shard starts if that is after its end."""
        given, began, end = _in_shard(shard_id, started_at, TrimHorizon()), begins[shard_id], ends[shard_id]
        if not isinstance(given, Latest):
            return str(given) if is_past(given, end) else None
        if isinstance(end, AtTimestamp):
            return (
                f"LATEST ({show_time(started_ms)})" if end.epoch_ms < started_ms - LATEST_MARGIN_MS else None
            )
        return f"LATEST ({began})" if is_past(began, end) else None

    begins = {shard_id: shard.cut for shard_id, shard in start.shards.items() if shard.cut != ShardEnd()}
    ends = {shard_id: _in_shard(shard_id, position, Latest()) for shard_id in begins}
    late = {shard_id: late_start(shard_id) for shard_id in begins}
    if not late or not all(late.values()):
        return None
    shard_id, text = next(iter(late.items()))
    return order_error(
        str(text), str(ends[shard_id]), f"stream={planner.name} shard={shard_id}", planner.names
    )


def _in_shard(shard_id: str, position: OneStreamStart, unnamed: Cut | Latest) -> Cut | Latest:
    if isinstance(position, (PerShard, ForeignCheckpoint)):
        return position.cuts.get(shard_id, unnamed)
    return position


def end(planner: StreamPlanner, start: StreamOffset, position: OneStreamStart) -> StreamOffset:
    """
    Return the end of one batch from *start* to *position*; the tip of now in shards that have not reached it.

    Raises:
        OptionError: The position is in the future, or names a shard that does not exist.
    """
    _check_past(planner, planner.names[1], position)
    if isinstance(position, PerShard):
        _check_known(planner.names[1], position.cuts, planner.discover(position.cuts), planner.name)

    def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
        match _in_shard(state.shard_id, position, Latest()):
            case AtTimestamp(epoch_ms):
                return plan_until(state, started, epoch_ms)
            case (At() | After()) as cut:
                return plan_up_to(state, started, cut)
            case TrimHorizon():
                return started
            case _:
                return plan_tip(state, started)

    return planner.tip(start, plan)


def _unfinished(position: OneStreamStart) -> list[str]:
    """Return the shards that the user names and that are not read to their end."""
    cuts = position.cuts if isinstance(position, (PerShard, ForeignCheckpoint)) else {}
    return [shard_id for shard_id, cut in cuts.items() if cut != ShardEnd()]


def _cuts(planner: StreamPlanner, position: OneStreamStart) -> dict[str, Cut | Latest]:
    listing = planner.listing
    match position:
        case Latest():
            # A closed shard is an ancestor of an open one, and counts as read when that one is named.
            return {s.shard_id: Latest() for s in listing.values() if s.is_open}
        case PerShard(cuts):
            _check_known(planner.names[0], cuts, listing, planner.name)
            passed = ancestors(cuts, listing)
            return {s: cuts.get(s, ShardEnd() if s in passed else TrimHorizon()) for s in listing}
        case ForeignCheckpoint(cuts):
            return resume_from_checkpoint(planner, cuts)
        case TrimHorizon() | AtTimestamp():
            return dict.fromkeys(listing, position)


def _check_past(planner: StreamPlanner, label: str, position: OneStreamStart) -> None:
    """Check that no time is in the future: a read that starts there is refused by Kinesis, and one that ends there would end now."""
    cuts = position.cuts if isinstance(position, (PerShard, ForeignCheckpoint)) else {"": position}
    now_ms = planner.api.now_ms()
    for shard_id, cut in cuts.items():
        if isinstance(cut, AtTimestamp) and cut.epoch_ms > now_ms + CLOCK_MARGIN_MS:
            where = f"stream={planner.name}" + (f" shard={shard_id}" if shard_id else "")
            raise OptionError(
                f"{label} accepts a time in the past; got {show_time(cut.epoch_ms)}, "
                f"while the service's clock is at {show_time(now_ms)}. [{where}]"
            )


def _check_known(label: str, named: Collection[str], listing: Collection[str], stream: str) -> None:
    unknown = sorted(set(named) - set(listing))
    if unknown:
        raise OptionError(
            f"{label} names shards that the stream does not have: {', '.join(unknown)}. "
            f"It has {', '.join(sorted(listing)[:20])}. [stream={stream}]"
        )


def _tips(planner: StreamPlanner, shard_ids: Collection[str]) -> dict[str, ShardOffset]:
    """Return the tips of these shards, and of children that they get meanwhile."""
    since_ms = planner.api.now_ms() - LATEST_MARGIN_MS
    since = ShardOffset(AtTimestamp(since_ms), since_ms, was_empty=True)
    listing = planner.listing
    others = {s: ShardOffset(TrimHorizon() if listing[s].is_open else ShardEnd()) for s in listing}
    shards = {**others, **dict.fromkeys(shard_ids, since)}

    def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
        is_other = state.shard_id in listing and state.shard_id not in shard_ids
        return started if is_other else plan_tip(state, started)

    tip = planner.tip(StreamOffset(planner.facts.summary().created_ms, shards), plan)
    return {s: p.carried_over() for s, p in tip.shards.items() if s in shard_ids or s not in listing}
