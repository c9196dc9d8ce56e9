"""Migration from another connector: what its checkpoint means for the shards and records of now."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kinesis_core.aggregation import count_user_records
from kinesis_core.errors import InvalidRequestError, IteratorExpiredError, OptionError, StreamNotFoundError
from kinesis_core.model import (
    After,
    At,
    Cut,
    Latest,
    Listing,
    Record,
    ShardEnd,
    ShardOffset,
    TrimHorizon,
    ancestors,
)
from kinesis_core.planning.loss import judge_position
from kinesis_core.planning.loss_report import describe
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_planner import StreamPlanner
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


def resume_from_checkpoint(
    planner: StreamPlanner, cuts: Mapping[str, Cut | Latest]
) -> dict[str, Cut | Latest]:
    """
    Return the cut to continue from in every shard of now, given the *cuts* that another connector has reached.

    Shards that it has read to the end may have left the stream since.

    Raises:
        OptionError: The checkpoint does not show whether some shard was read.
        DataLossError: A shard that was not read to its end has left the stream.
    """
    listing = planner.listing
    for shard_id, cut in cuts.items():
        if shard_id not in listing and cut != ShardEnd():
            _report_gone(planner, shard_id, cut)
    passed, following = ancestors(cuts, listing), _descendants(cuts, listing)
    unknown = [s for s in listing if s not in cuts and s not in passed and s not in following]
    if unknown:
        raise OptionError(
            f"{planner.names[0]} is a checkpoint that names neither {', '.join(unknown[:20])} nor parents or "
            f'children of them. Add {{"{unknown[0]}": "SHARD_END"}} after it if the shard was read to its end, else '
            f'{{"{unknown[0]}": "TRIM_HORIZON"}}. [stream={planner.name}]'
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

    The number need not be that of a record, as long as the shard still has an older one: then no record after it is lost. Where
    nothing is left, records after it may have come and gone, unless the stream is too young for that.

    Raises:
        DataLossError: Neither the record nor an older one is in the shard, and a loss stops the query.
        OptionError: The number is of another shard or stream.
    """
    state, created_ms = planner.states.of(shard_id), planner.facts.summary().created_ms
    try:
        named = first_record(state, At(cut.number))
        if named is not None and named.number == cut.number:
            return _since(ShardOffset(_settled(cut, named), named.arrived_ms), created_ms)
        oldest = first_record(state, TrimHorizon())
    except InvalidRequestError as error:
        raise OptionError(
            f"{planner.names[0]} names a record that {shard_id} cannot have: {error} "
            f"[stream={planner.name} shard={shard_id} sequence={cut.number}]"
        ) from error
    except StreamNotFoundError:
        return ShardOffset(cut)  # the shard has just left the stream: the first plan reports it
    if named is None:
        # It may be where a subscription continues. A wrong one would look like a shard without new records.
        log.warning("start.ahead", stream=planner.name, shard=shard_id, sequence=cut.number)
    return after_gone(planner, shard_id, cut, oldest)


def after_gone(planner: StreamPlanner, shard_id: str, cut: At | After, oldest: Record | None) -> ShardOffset:
    """
    Return the offset at the record that *cut* names, which the shard does not have, with a time that the first plan can judge by.

    *oldest* is the oldest record left. After a loss reading continues there.

    Raises:
        DataLossError: Records may be lost, and a loss stops the query.
    """
    created_ms = planner.facts.summary().created_ms
    loss = judge_position(cut.number, oldest, created_ms, planner.api.now_ms())
    if loss is not None:
        planner.reports.report(shard_id, ShardOffset(cut), describe(loss, cut))
        return ShardOffset(TrimHorizon())
    return ShardOffset(cut).was_empty_until(created_ms if oldest is None else oldest.arrived_ms or created_ms)


def _since(start: ShardOffset, since_ms: int) -> ShardOffset:
    """Return *start*, with *since_ms* as the time before which no record after it arrived, if it has none."""
    return start if start.arrived_ms is not None else start.was_empty_until(since_ms)


def _settled(cut: At | After, record: Record) -> At | After:
    """Return *cut*, or the cut after its *record* if all user records of it are skipped: a plain record is one."""
    if not (isinstance(cut, At) and cut.skip):
        return cut
    return After(cut.number) if cut.skip >= count_user_records(record.data) else cut


def first_record(state: ShardState, cut: Cut) -> Record | None:
    """Return the first record at or after *cut*; None where the shard has none now."""
    with state.calls.patiently():
        while True:
            try:
                records = state.first_page(cut).records
            except IteratorExpiredError:
                continue
            return records[0] if records else None
