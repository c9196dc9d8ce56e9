"""Targets: ends that no plan goes beyond, fixed once for a query that is to end with what is there now."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from kinesis_core.model import After, At, Cut, ShardOffset, TrimHorizon
from kinesis_core.planning.shard_state import ShardState

Targets = Mapping[str, ShardOffset]
"""By shard."""


def no_further(view: ShardState, started: ShardOffset, end: ShardOffset, target: ShardOffset) -> ShardOffset:
    """Return *end*, or *target* where it lies before it, without records where those up to it are lost."""
    if _is_gone(view, started, end, target):
        return evolve(target, first=None)
    if end.cut == started.cut or _number(end.cut) <= _number(target.cut):
        return end
    return evolve(target, first=end.first)


def _is_gone(view: ShardState, started: ShardOffset, end: ShardOffset, target: ShardOffset) -> bool:
    """Return whether nothing before *target* is left of what was lost behind *begun*."""
    if view.lost_behind != started.cut:
        return False
    if end.cut == TrimHorizon():
        return view.is_at_tip
    return end.first is not None and end.first > _number(target.cut)


def _number(cut: Cut) -> float:
    """Return the sequence number for comparing; a shard's end lies behind all of them."""
    return cut.number if isinstance(cut, (At, After)) else float("inf")
