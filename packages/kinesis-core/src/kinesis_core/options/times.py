"""Parsers of times, in milliseconds since the epoch. A time without a zone is refused."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from kinesis_core.model import LAST_EPOCH_MS
from kinesis_core.options.option import BadValueError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EPOCH_NUMBER = re.compile(r"(\d{1,16})(?:\.(\d{1,9}))?")
_FIRST_EPOCH_MS = 10**11
"""Smaller numbers are seconds. As milliseconds this is March 1973, as seconds the year 5138."""
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d\d):?(\d\d)?")
_ADD_ZONE = "Add Z or an offset such as +02:00: without a zone the time depends on the machine."
_ZONE_HOURS = {"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6} | {
    "CST": -6,
    "CDT": -5,
    "EST": -5,
    "EDT": -4,
}
"""Java's meaning of these names. Other names are ambiguous."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_JAVA_TOKEN = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+")
_JAVA_FIELDS = {
    "y": ("year", r"\d{4}"),
    "u": ("year", r"\d{4}"),
    "M": ("month", r"\d{1,2}"),
    "d": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "h": ("hour12", r"\d{1,2}"),
    "a": ("half", r"[AP]M"),
    "m": ("minute", r"\d{1,2}"),
    "s": ("second", r"\d{1,2}"),
    "S": ("fraction", r"\d{1,9}"),
} | dict.fromkeys("zZXx", ("zone", r"[A-Z]{1,5}(?:[+-]\d\d:?\d\d)?|[+-]\d\d(?::?\d\d)?"))


def parse_time(text: str) -> int:
    """
    Return the time *text*: ISO 8601 with Z, UTC or an offset, or seconds or milliseconds since the epoch.

    Raises:
        BadValueError: The text has another form or no zone, or the time is before 1970.
    """
    if match := _EPOCH_NUMBER.fullmatch(text):
        return _read_epoch(match[1], match[2])
    match = _ISO.fullmatch(text)
    if match is None:
        raise BadValueError()
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if zone is None:
        raise BadValueError(_ADD_ZONE)
    numbers = tuple(int(part or 0) for part in (year, month, day, hour, minute, second))
    return _to_epoch_ms(numbers, fraction or "", zone)


def parse_java_time(text: str, pattern: str) -> int:
    """
    Return the time *text*, which is written in the Java date format *pattern*.

    A pattern may have the letters y M d H h a m s S z Z X x, quoted text and punctuation.

    Raises:
        BadValueError: The pattern has other letters or no zone, or the text does not match it.
    """
    match = re.fullmatch(_compile_java_pattern(pattern), text, re.IGNORECASE)
    if match is None:
        raise BadValueError(f"The time does not match its format {pattern!r}.")
    parts = match.groupdict(default="")
    if "zone" not in parts:
        raise BadValueError(f"{_ADD_ZONE} In the format, XXX or ZZZ is the zone.")
    hour = _read_hour(parts)
    rest = tuple(int(parts.get(name) or 0) for name in ("minute", "second"))
    numbers = (int(parts["year"]), _read_month(parts["month"]), int(parts["day"]), hour, *rest)
    return _to_epoch_ms(numbers, parts.get("fraction", ""), parts["zone"])


def _read_epoch(whole: str, fraction: str | None) -> int:
    number = int(whole)
    if number >= _FIRST_EPOCH_MS:
        if fraction is not None:
            raise BadValueError("Milliseconds since the epoch must be a whole number.")
        return _check_end(number)
    return number * 1000 + _read_milliseconds(fraction or "")


def _read_milliseconds(fraction: str) -> int:
    return int(fraction[:3].ljust(3, "0"))


def _to_epoch_ms(numbers: tuple[int, ...], fraction: str, zone: str) -> int:
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


def _compile_java_pattern(pattern: str) -> str:
    expression, position, seen = "", 0, set[str]()
    for token in _JAVA_TOKEN.finditer(pattern):
        if token.start() != position:
            break
        position = token.end()
        if token[2] is None:
            literal = token[0] if token[1] is None else token[1].replace("''", "'") or "'"
            expression += re.escape(literal)
            continue
        name, field = _read_java_field(token[2], len(token[0]))
        if name in seen:
            raise BadValueError(f"The format {pattern!r} has the {name} twice.")
        seen.add(name)
        expression += f"(?P<{name}>{field})"
    if (
        position != len(pattern)
        or not {"year", "month", "day"} <= seen
        or ("hour12" in seen) != ("half" in seen)
    ):
        raise BadValueError(f"The format {pattern!r} is not valid. An example is MM/dd/yyyy HH:mm:ss ZZZ.")
    return expression


def _read_java_field(letter: str, count: int) -> tuple[str, str]:
    if letter not in _JAVA_FIELDS or (letter in "yu" and count not in (1, 4)):
        raise BadValueError(f"The format has '{letter * count}', which is not supported.")
    if letter == "M" and count >= 3:
        return "month", "[a-z]{3,9}"
    return _JAVA_FIELDS[letter]


def _read_month(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text[:3].lower() not in _MONTHS:
        raise BadValueError(f"The month {text!r} does not exist.")
    return _MONTHS.index(text[:3].lower()) + 1


def _read_hour(parts: dict[str, str]) -> int:
    if "hour12" not in parts:
        return int(parts.get("hour") or 0)
    hour = int(parts["hour12"])
    if not 1 <= hour <= 12:
        raise BadValueError(f"The hour {hour} does not exist with AM or PM.")
    return hour % 12 + (12 if parts["half"].upper() == "PM" else 0)
