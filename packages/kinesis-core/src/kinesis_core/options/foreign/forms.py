"""Parsers for names of other connectors that accept larger values than our options. Those count as our nearest value."""

from __future__ import annotations

import math

from kinesis_core.options.option import Parser
from kinesis_core.options.parsers import N, duration, integer


def clamped_integer(low: int, high: int, unit: str = "") -> Parser[int]:
    """Return a parser of whole numbers from *low*. Those above *high* count as *high*."""
    domain = f"{integer(low, high, unit).domain}; a larger value counts as {high}"
    return _clamp(integer(low, None), domain, low, high)


def clamped_duration(
    low_s: float, high_s: float, default_unit: str, *, least_s: float | None = None
) -> Parser[float]:
    """
    Return a parser of durations. Those above *high_s* count as *high_s*.

    Those from *least_s* to *low_s* count as *low_s*. Without *least_s* they are refused.
    """
    wide = duration(low_s if least_s is None else least_s, math.inf, default_unit)
    narrow = duration(low_s, high_s, default_unit)
    domain = f"{narrow.domain}; a larger value counts as {narrow.show(high_s)}"
    if least_s is not None:
        domain += f", a smaller one as {narrow.show(low_s)}"
    return _clamp(wide, domain, low_s, high_s)


def _clamp(wide: Parser[N], domain: str, low: N, high: N) -> Parser[N]:
    def parse(text: str) -> N:
        return min(max(wide.parse(text), low), high)

    def ignored_reason(text: str) -> str:
        nearest = parse(text)
        return "" if nearest == wide.parse(text) else f"counts as {wide.show(nearest)}, the nearest value"

    return Parser(domain, parse, ignored_reason)
