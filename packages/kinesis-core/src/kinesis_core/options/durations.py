"""The parser of durations: `200 ms`, `1h 30m`, or ISO 8601 such as `P3DT12H`."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

from kinesis_core.options.option import BadValueError

_SECONDS = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), Decimal("0.000001")),
    **dict.fromkeys(("ms", "msec", "milli", "millis", "millisecond", "milliseconds"), Decimal("0.001")),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86400)),
}
_NUMBER = r"(\d{1,19}(?:\.\d{1,9})?)"
_PART = re.compile(rf"{_NUMBER}\s*([a-z]*)\s*", re.IGNORECASE)
_ISO = re.compile(
    rf"P(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.IGNORECASE
)
_ISO_SECONDS = (86400, 3600, 60, 1)
_MOST_PARTS = 6


def parse_duration(text: str, default_unit: str = "") -> Decimal:
    """
    Return the seconds of *text*. A number without a unit counts *default_unit*; without one it is refused.

    Raises:
        BadValueError: The text has another form, or another unit.
    """
    if text[:1] in ("P", "p"):
        return _read_iso(text)
    parts = _split(text)
    units = [unit or (default_unit if len(parts) == 1 else "") for _, unit in parts]
    if not set(units) <= _SECONDS.keys():
        raise BadValueError("The units are ms, s, m, h and d.")
    sizes = [_SECONDS[unit] for unit in units]
    if any(later >= size for size, later in pairwise(sizes)):
        raise BadValueError("Write the largest unit first, and each unit once.")
    return sum((amount * size for (amount, _), size in zip(parts, sizes, strict=True)), Decimal())


def split_quantity(text: str) -> tuple[Decimal, str]:
    """
    Return the number and the unit of *text*, such as `20gb`. The unit is in lower case, and may be empty.

    Raises:
        BadValueError: The text has another form.
    """
    (quantity,) = _split(text, 1)
    return quantity


def _split(text: str, most: int = _MOST_PARTS) -> list[tuple[Decimal, str]]:
    parts: list[tuple[Decimal, str]] = []
    position = 0
    while match := _PART.match(text, position):
        parts.append((Decimal(match[1]), match[2].lower()))
        position = match.end()
        if len(parts) == most or not match[2]:
            break
    if not parts or position < len(text):
        raise BadValueError()
    return parts


def _read_iso(text: str) -> Decimal:
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()):
        raise BadValueError("ISO 8601 durations have days, hours, minutes and seconds here, as in P3DT12H.")
    amounts = (Decimal(part or 0) for part in match.groups())
    return sum((amount * size for amount, size in zip(amounts, _ISO_SECONDS, strict=True)), Decimal())
