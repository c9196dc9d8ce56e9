"""
Reads a starting position of Databricks: a time in a date format of Java.

    {"at_timestamp": "06/25/2020 10:23:45 PDT", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}
"""

from __future__ import annotations

import re
from typing import Any

from kinesis_core.options.option import BadValueError
from kinesis_core.options.times import ADD_ZONE, parse_time, to_epoch_ms
from kinesis_credentials.base import shorten

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

Document = dict[str, Any]


def is_databricks_time(document: Document) -> bool:
    """Return whether *document* names a time as Databricks does."""
    return "at_timestamp" in {key.lower() for key in document}


def read_databricks_time(document: Document) -> int:
    """
    Return the time that *document* names, in milliseconds since the epoch.

    Raises:
        BadValueError: The document has other names, or a time or format that is not valid.
    """
    parts = {key.lower(): value for key, value in document.items()}
    if set(parts) - {"at_timestamp", "format"} or len(parts) < len(document):
        raise BadValueError("Only 'format' is accepted together with 'at_timestamp'.")
    if isinstance(parts["at_timestamp"], int) and not isinstance(parts["at_timestamp"], bool):
        parts["at_timestamp"] = str(parts["at_timestamp"])
    if not all(isinstance(value, str) for value in parts.values()):
        raise BadValueError("'at_timestamp' and 'format' must be texts.")
    time = parts["at_timestamp"].strip()
    return parse_java_time(time, parts["format"]) if "format" in parts else parse_time(time)


def parse_java_time(text: str, pattern: str) -> int:
    """
    Return the time *text*, which is written in the Java date format *pattern*.

    A pattern may have the letters y M d H h a m s S z Z X x, quoted text and punctuation.

    Raises:
        BadValueError: The pattern has other letters or no zone, or the text does not match it.
    """
    match = re.fullmatch(_compile_java_pattern(pattern), text, re.IGNORECASE)
    if match is None:
        raise BadValueError(f"The time does not match its format {shorten(pattern)!r}.")
    parts = match.groupdict(default="")
    if "zone" not in parts:
        raise BadValueError(f"{ADD_ZONE} In the format, XXX or ZZZ is the zone.")
    hour = _read_hour(parts)
    rest = tuple(int(parts.get(name) or 0) for name in ("minute", "second"))
    numbers = (int(parts["year"]), _read_month(parts["month"]), int(parts["day"]), hour, *rest)
    return to_epoch_ms(numbers, parts.get("fraction", ""), parts["zone"])


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
            raise BadValueError(f"The format {shorten(pattern)!r} has the {name} twice.")
        seen.add(name)
        expression += f"(?P<{name}>{field})"
    if (
        position != len(pattern)
        or not {"year", "month", "day"} <= seen
        or ("hour12" in seen) != ("half" in seen)
    ):
        raise BadValueError(
            f"The format {shorten(pattern)!r} is not valid. An example is MM/dd/yyyy HH:mm:ss ZZZ."
        )
    return expression


def _read_java_field(letter: str, count: int) -> tuple[str, str]:
    if letter not in _JAVA_FIELDS or (letter in "yu" and count not in (1, 4)):
        raise BadValueError(f"The format has '{shorten(letter * count)}', which is not supported.")
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
