"""Where reading starts and, for a batch, ends: what the positions of a user, or the checkpoint of another connector, mean in one stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import evolve

from kinesis_core.aggregation import count_user_records
from kinesis_core.errors import InvalidRequestError, OptionError, StreamNotFoundError
from kinesis_core.model import (
    CLOCK_MARGIN_MS,
    HOUR_MS,
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    Listing,
    OneStreamStart,
    PerShard,
    Record,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
    ancestors,
    is_past,
    order_error,
    show_time,
)
from kinesis_core.planning.loss import describe, judge_position
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_planner import Draft, StreamPlanner
from kinesis_core.planning.tip import plan_tip, plan_until, plan_up_to
from kinesis_core.shards import Expired, Left, Passed
from kinesis_credentials.advice import Setting
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


LATEST_MARGIN_MS = 5000
"""How far before now a shard without records starts at LATEST: the next arrival time may be off by as much."""


def begin(planner: StreamPlanner, position: OneStreamStart) -> StreamOffset:
    """
    Return the offset that *position* means, in every current shard.

    Shards discovered later start at their oldest record, so no record put after this moment is missed. A start at a time
    promises all records since then: the first plan reports those that have expired.

    Raises:
        OptionError: The position is in the future, or names a shard that does not exist, or a record of another shard.
        DataLossError: A record that it names has expired, and a loss stops the query.
    """
    created_ms = planner.facts.begin()
    _check_past(planner, Setting.START, position)
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

    On a stream that is older than its retention, a batch that starts at the oldest record cannot be read. This record expires
    while the batch is planned and its tasks start.
    """
    margin_ms = int(planner.settings.trim_horizon_margin_s * 1000)
    if not margin_ms:
        return TrimHorizon()
    now_ms = planner.api.now_ms()
    return AtTimestamp(min(now_ms, now_ms - planner.facts.retention_hours() * HOUR_MS + margin_ms))


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
    return order_error(str(text), str(ends[shard_id]), stream=planner.name, shard=shard_id)


def _in_shard(shard_id: str, position: OneStreamStart, unnamed: Cut | Latest) -> Cut | Latest:
    if isinstance(position, (PerShard, ForeignCheckpoint)):
        return position.cuts.get(shard_id, unnamed)
    return position


def end(planner: StreamPlanner, start: StreamOffset, position: OneStreamStart) -> StreamOffset:
    """
    Return the end of one batch from *start* to *position*; the present tip in shards that have not reached it.

    Raises:
        OptionError: The position is in the future, or names a shard that does not exist.
    """
    _check_past(planner, Setting.END, position)
    if isinstance(position, PerShard):
        _check_known(Setting.END, position.cuts, planner.discover(position.cuts), planner.name)

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

    return planner.tip(Draft(start), plan)


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
            _check_known(Setting.START, cuts, listing, planner.name)
            passed = ancestors(cuts, listing)
            return {s: cuts.get(s, ShardEnd() if s in passed else TrimHorizon()) for s in listing}
        case ForeignCheckpoint(cuts):
            return resume_from_checkpoint(planner, cuts)
        case TrimHorizon() | AtTimestamp():
            return dict.fromkeys(listing, position)


def _check_past(planner: StreamPlanner, setting: Setting, position: OneStreamStart) -> None:
    """Check that no time is in the future: a read that starts there is refused by Kinesis, and one that ends there would end now."""
    cuts = position.cuts if isinstance(position, (PerShard, ForeignCheckpoint)) else {"": position}
    now_ms = planner.api.now_ms()
    for shard_id, cut in cuts.items():
        if isinstance(cut, AtTimestamp) and cut.epoch_ms > now_ms + CLOCK_MARGIN_MS:
            where = {"stream": planner.name, **({"shard": shard_id} if shard_id else {})}
            raise OptionError(
                f"is {show_time(cut.epoch_ms)}, while the service's clock is at {show_time(now_ms)}. Use a time in the past.",
                about=setting,
                **where,
            )


def _check_known(setting: Setting, named: Collection[str], listing: Collection[str], stream: str) -> None:
    unknown = sorted(set(named) - set(listing))
    if unknown:
        raise OptionError(
            f"names shards that the stream does not have: {', '.join(unknown)}. It has {', '.join(sorted(listing)[:20])}.",
            about=setting,
            stream=stream,
        )


def _tips(planner: StreamPlanner, shard_ids: Collection[str]) -> dict[str, ShardOffset]:
    """Return the tips of these shards, and of children that they get during the call."""
    since_ms = planner.api.now_ms() - LATEST_MARGIN_MS
    since = ShardOffset(AtTimestamp(since_ms), since_ms, was_empty=True)
    listing = planner.listing
    others = {s: ShardOffset(TrimHorizon() if listing[s].is_open else ShardEnd()) for s in listing}
    shards = {**others, **dict.fromkeys(shard_ids, since)}

    def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
        is_other = state.shard_id in listing and state.shard_id not in shard_ids
        return started if is_other else plan_tip(state, started)

    tip = planner.tip(Draft(StreamOffset(planner.facts.summary().created_ms, shards)), plan)
    return {s: p.carried_over() for s, p in tip.shards.items() if s in shard_ids or s not in listing}


def resume_from_checkpoint(
    planner: StreamPlanner, cuts: Mapping[str, Cut | Latest]
) -> dict[str, Cut | Latest]:
    """
    Return the cut to continue from in every current shard, given the *cuts* that another connector has reached.

    Shards that it has read to the end may have expired since.

    Raises:
        OptionError: The checkpoint does not show whether some shard was read.
        DataLossError: A shard that was not read to its end has expired.
    """
    listing = planner.listing
    for shard_id, cut in cuts.items():
        if shard_id not in listing and cut != ShardEnd():
            _report_gone(planner, shard_id, cut)
    passed, following = ancestors(cuts, listing), _descendants(cuts, listing)
    unknown = [s for s in listing if s not in cuts and s not in passed and s not in following]
    if unknown:
        raise OptionError(
            f"is a checkpoint that names neither {', '.join(unknown[:20])} nor parents or children of them. "
            f'Add {{"{unknown[0]}": "SHARD_END"}} after it if the shard was read to its end, else {{"{unknown[0]}": "TRIM_HORIZON"}}.',
            about=Setting.START,
            stream=planner.name,
        )
    return {s: cuts.get(s, ShardEnd() if s in passed else TrimHorizon()) for s in listing}


def _report_gone(planner: StreamPlanner, shard_id: str, cut: Cut | Latest) -> None:
    position = ShardOffset(TrimHorizon() if isinstance(cut, Latest) else cut)
    what = "Kinesis no longer lists the shard, and the checkpoint has not read it to its end"
    planner.reports.report(shard_id, position, what)


def _descendants(shard_ids: Collection[str], listing: Listing) -> set[str]:
    """Return all listed children, grandchildren, ... of *shard_ids*, which need not be listed themselves."""
    found: set[str] = set()
    fresh = set(shard_ids)
    while fresh:
        children = {s.shard_id for s in listing.values() if not fresh.isdisjoint(s.parents)}
        fresh = children - found
        found |= fresh
    return found


def verify_record(planner: StreamPlanner, shard_id: str, cut: At | After) -> ShardOffset:
    """
    Return the offset at the record that *cut* names, with its arrival time or another time that the first plan can judge by.

    The number need not belong to a record if the shard still has an older record: then no record after the number is lost. Where
    nothing is left, records after it may have come and gone, unless the stream is too young for that.

    Raises:
        DataLossError: Neither the record nor an older one is in the shard, and a loss stops the query.
        OptionError: The number is of another shard or stream.
    """
    state, created_ms = planner.states.of(shard_id), planner.facts.summary().created_ms
    try:
        found = state.await_record(cut.number)
    except InvalidRequestError as error:
        raise OptionError(
            f"names a record that {shard_id} cannot have: {error.what}",
            about=Setting.START,
            stream=planner.name,
            shard=shard_id,
            sequence=cut.number,
        ) from error
    except StreamNotFoundError:
        return ShardOffset(cut)  # the shard has just expired: the first plan reports it
    if isinstance(found, Left):
        return _since(ShardOffset(_settled(cut, found.record), found.record.arrived_ms), created_ms)
    if (state.evidence.newest or 0) < cut.number:
        # It may be where a subscription continues. A wrong one would look like a shard without new records.
        log.warning("start.ahead", stream=planner.name, shard=shard_id, sequence=cut.number)
    return after_gone(planner, shard_id, cut, found)


def after_gone(
    planner: StreamPlanner, shard_id: str, cut: At | After, found: Passed | Expired
) -> ShardOffset:
    """
    Return the offset at the record that *cut* names, which the shard does not have, with a time that the first plan can judge by.

    *found* has the oldest record left. After a loss reading continues there.

    Raises:
        DataLossError: Records may be lost, and a loss stops the query.
    """
    created_ms = planner.facts.summary().created_ms
    loss = judge_position(cut.number, found, created_ms, planner.api.now_ms())
    if loss is not None:
        planner.reports.report(shard_id, ShardOffset(cut), describe(loss, cut))
        return ShardOffset(TrimHorizon())
    return ShardOffset(cut).was_empty_until((found.oldest and found.oldest.arrived_ms) or created_ms)


def _since(start: ShardOffset, since_ms: int) -> ShardOffset:
    """Return *start*, with *since_ms* as the time before which no record after it arrived, if it has none."""
    return start if start.arrived_ms is not None else start.was_empty_until(since_ms)


def _settled(cut: At | After, record: Record) -> At | After:
    """Return *cut*, or the cut after its *record* if all user records of it are skipped: a plain record is one."""
    if not (isinstance(cut, At) and cut.skip):
        return cut
    return After(cut.number) if cut.skip >= count_user_records(record.data) else cut
