"""Targets: ends that no plan goes beyond, fixed once for a query that is to end with what is there now."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from kinesis_core.cuts import After, At, Cut
from kinesis_core.offsets import Position

Targets = Mapping[str, Position]
"""By shard."""


def no_further(begun: Position, end: Position, target: Position) -> Position:
    """Return *end*, or *target* where it lies before it."""
    if end.cut == begun.cut or _number(end.cut) <= _number(target.cut):
        return end
    return evolve(target, first=end.first)


def _number(cut: Cut) -> float:
    """Return the sequence number for comparing; a shard's end lies behind all of them."""
    return cut.number if isinstance(cut, (At, After)) else float("inf")
