"""Parsers of times, in milliseconds since the epoch. A time without a zone is refused, unless the caller has one for it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from kinesis_core.model import LAST_EPOCH_MS
from kinesis_core.options.durations import parse_duration
from kinesis_core.options.option import BadValueError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EPOCH_NUMBER = re.compile(r"(\d{1,16})(?:\.(\d{1,9}))?")
_FIRST_EPOCH_MS = 10**11
"""Smaller numbers are seconds. As milliseconds this is March 1973, as seconds the year 5138."""
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SIGN = re.compile(r"(?:[+-]|in\s)\s*p?t?\d", re.IGNORECASE)
_AGO = re.compile(r"\bago$", re.IGNORECASE)
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d\d):?(\d\d)?")
ADD_ZONE = "Add Z or an offset such as +02:00: without a zone the time depends on the machine."
EXAMPLE = "An example of a time is 2026-01-31T09:00:00Z."
_ZONE_HOURS = {"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6} | {
    "CST": -6,
    "CDT": -5,
    "EST": -5,
    "EDT": -4,
}
"""Java's meaning of these names. Other names are ambiguous."""


def parse_moment(text: str, now_ms: int, zone: str = "") -> int:
    """
    Return the time *text*: a time as `parse_time` reads it, or a duration before *now_ms*, with or without `ago` after it.

    A moment before 1970 is 1970: Kinesis knows no earlier one.

    Raises:
        BadValueError: It is neither.
    """
    if _EPOCH_NUMBER.fullmatch(text) or _DATE.match(text):
        return parse_time(text, zone)
    if _SIGN.match(text):
        raise BadValueError("A duration counts back from now and has no sign: 3h is three hours ago.")
    return max(0, now_ms - round(parse_duration(_AGO.sub("", text).rstrip()) * 1000))


def parse_time(text: str, zone: str = "") -> int:
    """
    Return the time *text*: ISO 8601 with Z, UTC or an offset, or seconds or milliseconds since the epoch.

    *zone* is that of a time without one, and of a date, which is its first moment. Without it they are refused.

    Raises:
        BadValueError: The text has another form or no zone, or the time is before 1970.
    """
    if match := _EPOCH_NUMBER.fullmatch(text):
        return _read_epoch(match[1], match[2])
    match = _ISO.fullmatch(text)
    if match is None:
        raise BadValueError()
    year, month, day, hour, minute, second, fraction, own_zone = match.groups()
    if not (own_zone or zone):
        raise BadValueError(ADD_ZONE if hour else f"A date needs a time and a zone. {EXAMPLE}")
    numbers = tuple(int(part or 0) for part in (year, month, day, hour, minute, second))
    return to_epoch_ms(numbers, fraction or "", own_zone or zone)


def _read_epoch(whole: str, fraction: str | None) -> int:
    number = int(whole)
    if number >= _FIRST_EPOCH_MS:
        if fraction is not None:
            raise BadValueError("Milliseconds since the epoch must be a whole number.")
        return _check_end(number)
    return number * 1000 + _read_milliseconds(fraction or "")


def _read_milliseconds(fraction: str) -> int:
    return int(fraction[:3].ljust(3, "0"))


def to_epoch_ms(numbers: tuple[int, ...], fraction: str, zone: str) -> int:
    year, month, day, hour, minute, second = numbers
    try:
        tzinfo = timezone(_read_offset(zone))
        moment = datetime(year, month, day, hour, minute, second, tzinfo=tzinfo)
    except ValueError as error:
        raise BadValueError(f"The time does not exist: {error}.") from None
    epoch_ms = (moment - _EPOCH) // timedelta(milliseconds=1) + _read_milliseconds(fraction)
    if epoch_ms < 0:
        raise BadValueError("The time is before 1970.")
    return _check_end(epoch_ms)


def _check_end(epoch_ms: int) -> int:
    if epoch_ms > LAST_EPOCH_MS:
        raise BadValueError("The time is after the year 9999.")
    return epoch_ms


def _read_offset(zone: str) -> timedelta:
    hours = _ZONE_HOURS.get(zone.upper())
    if hours is not None:
        return timedelta(hours=hours)
    match = _OFFSET.fullmatch(zone.upper())
    if match is None:
        raise BadValueError(f"The zone {zone!r} is not supported. Write an offset such as +02:00.")
    size = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return -size if match[1] == "-" else size
