"""Forms of values that other connectors' names have: other units, larger values, the opposite."""

from __future__ import annotations

import math
from typing import Any

from kinesis_core.model import SHARD_RATE_BYTES
from kinesis_core.options.foreign.connectors import ParserForm
from kinesis_core.options.option import Parser
from kinesis_core.options.parsers import boolean, duration, integer, url

_SHORTEST_READ_S = 0.001
_LONGEST_READ_S = 86_400


def clamped_integer(ours: Parser[int]) -> Parser[int]:
    """Return a parser of whole numbers. Those above our range count as our highest."""
    return _clamp(integer(ours.low, None), ours, f"{ours.domain}; a larger value counts as {ours.high}")


def clamped(unit: str, *, least_s: float | None = None) -> ParserForm:
    """
    Return the form of durations in *unit*. Durations above our range count as our longest.

    Those from *least_s* to our shortest count as our shortest. Without *least_s* they are refused.
    """

    def form(ours: Parser[float]) -> Parser[float]:
        wide = duration(ours.low if least_s is None else least_s, math.inf, unit)
        domain = f"{in_unit(unit)(ours).domain}; a larger value counts as {ours.show(ours.high)}"
        if least_s is not None:
            domain += f", a smaller one as {ours.show(ours.low)}"
        return _clamp(wide, ours, domain)

    return form


def in_unit(unit: str) -> ParserForm:
    """Return the form of our durations in which a number without a unit counts *unit*."""
    return lambda ours: duration(ours.low, ours.high, unit)


def read_in(unit: str) -> ParserForm:
    """Return the form of durations that stand for what a shard delivers in that time, in bytes."""
    seconds = duration(_SHORTEST_READ_S, _LONGEST_READ_S, unit)
    return lambda _: Parser(seconds.domain, lambda text: round(seconds.parse(text) * SHARD_RATE_BYTES))


def negated(ours: Parser[bool]) -> Parser[bool]:
    """Return a parser of the opposite of the given boolean."""
    return Parser(ours.domain, lambda text: not boolean().parse(text))


def or_host(_: Parser[str]) -> Parser[str]:
    """Return a parser of URLs that may be a host alone."""
    return url(default_scheme="https")


def _clamp(wide: Parser[Any], ours: Parser[Any], domain: str) -> Parser[Any]:
    def parse(text: str) -> Any:
        return min(max(wide.parse(text), ours.low), ours.high)

    def ignored_reason(text: str) -> str:
        nearest = parse(text)
        return "" if nearest == wide.parse(text) else f"counts as {wide.show(nearest)}, the nearest value"

    return Parser(domain, parse, ignored_reason)
