"""Targets: ends that no plan exceeds, fixed once for a query that reads what is there now and then ends."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from kinesis_core.model import After, At, Cut, ShardEnd, ShardOffset, StreamOffset, TrimHorizon
from kinesis_core.planning.progress import is_lost
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.shard_states import ShardStates

Targets = Mapping[str, ShardOffset]
"""By shard id."""


def no_further(state: ShardState, started: ShardOffset, end: ShardOffset, target: ShardOffset) -> ShardOffset:
    """Return *end*, or *target* where that comes first; without records where those up to it are lost."""
    if _is_gone(state, started, end, target):
        return evolve(target, first=None)
    if end.cut == started.cut or not is_further(end.cut, target.cut):
        return end
    return evolve(target, first=end.first, estimate=end.estimate)


def is_reached(start: StreamOffset, states: ShardStates, shard_id: str, targets: Targets) -> bool:
    """Return whether nothing is left to plan in a shard: no target, or the shard has reached it."""
    target = targets.get(shard_id)
    if target is None or states.is_ended(start, shard_id):
        return True
    # A shard may leave the stream before its target is reached.
    return start.started(shard_id).cut in (target.cut, ShardEnd())


def _is_gone(state: ShardState, started: ShardOffset, end: ShardOffset, target: ShardOffset) -> bool:
    """Return whether no record between *started* and *target* is left after a loss."""
    if not is_lost(state.progress, started.cut):
        return False
    if end.cut == TrimHorizon():
        return state.is_at_tip
    return end.first is not None and end.first > _number(target.cut)


def is_further(end: Cut, other: Cut) -> bool:
    """Return whether *end* comes after *other*, the end of another plan of the shard. The oldest record comes after none."""
    return end != TrimHorizon() and _number(end) > _number(other)


def _number(cut: Cut) -> float:
    """Return the sequence number for comparing; a shard's end comes after all of them."""
    return cut.number if isinstance(cut, (At, After)) else float("inf")
