"""Parsers for names of other connectors that take larger values there: those count as the nearest of ours."""

from __future__ import annotations

import math
from collections.abc import Callable

from kinesis_core.options.option import Parser
from kinesis_core.options.parsers import N, duration, integer, show_seconds


def clamped_integer(low: int, high: int, unit: str = "") -> Parser[int]:
    """Return a parser of whole numbers from *low*; those above *high* count as it."""
    return _clamp(
        integer(low, None),
        f"{integer(low, high, unit).domain}; a larger value counts as {high}",
        low,
        high,
        str,
    )


def clamped_duration(
    low_s: float, high_s: float, default_unit: str, *, least_s: float | None = None
) -> Parser[float]:
    """
    Return a parser of durations; those above *high_s* count as it.

    Those from *least_s* to *low_s* count as *low_s*; without *least_s* they are refused.
    """
    wide = duration(low_s if least_s is None else least_s, math.inf, default_unit)
    domain = (
        f"{duration(low_s, high_s, default_unit).domain}; a larger value counts as {show_seconds(high_s)}"
    )
    if least_s is not None:
        domain += f", a smaller one as {show_seconds(low_s)}"
    return _clamp(wide, domain, low_s, high_s, show_seconds)


def _clamp(wide: Parser[N], domain: str, low: N, high: N, show: Callable[[N], str]) -> Parser[N]:
    def parse(text: str) -> N:
        return min(max(wide.parse(text), low), high)

    def note(text: str) -> str:
        nearest = parse(text)
        return "" if nearest == wide.parse(text) else f"counts as {show(nearest)}, the nearest value"

    return Parser(domain, parse, note)
