"""Parsers for the kinds of values that options accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from kinesis_core.model import STREAM_NAME, fault_of_tags
from kinesis_core.options.durations import parse_duration, split_quantity
from kinesis_core.options.option import BadValueError, Parser, show_in_code
from kinesis_credentials.endpoints import BadUrlError, verify_url

V = TypeVar("V")

_UNIT_NAMES = {"ms": "milliseconds", "s": "seconds"}
_BYTES = {"": 1, "b": 1} | {
    f"{letter}{suffix}": 1024**power
    for power, letter in enumerate("kmgtp", start=1)
    for suffix in ("", "b", "ib")
}
_REGION = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,12}){1,4}")
_STREAM_ARN = re.compile(
    rf"arn:aws[a-z-]*:kinesis:{_REGION.pattern}:[0-9]{{12}}:stream/{STREAM_NAME.pattern}"
)


def boolean() -> Parser[bool]:
    """Return a parser of `true` and `false`."""
    return one_of({"true": True, "false": False})


def one_of(values: Mapping[str, V]) -> Parser[V]:
    """Return a parser of the names in *values*, in any case. A value is shown by its first name."""
    by_name = {name.lower(): value for name, value in values.items()}
    names = {value: name for name, value in reversed(list(values.items()))}

    def parse(text: str) -> V:
        try:
            return by_name[text.lower()]
        except KeyError:
            raise BadValueError() from None

    *others, last = values
    return Parser(f"{', '.join(others)} or {last}", parse, show=lambda value: show_in_code(names[value]))


def integer(low: int, high: int | None, unit: str = "") -> Parser[int]:
    """Return a parser of whole numbers from *low* to *high*, both included. *unit*, a plural, is for texts only."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,19}", text):
            raise BadValueError()
        return _check_range(int(text), low, high)

    def show(value: int) -> str:
        return f"{value} {unit.removesuffix('s') if value == 1 else unit}".rstrip()

    bounds = f"{low} or more" if high is None else f"{low} to {high}"
    return Parser(f"{bounds} {unit}".rstrip(), parse, show=show, low=low, high=high)


def number(low: float, high: float, unit: str, factor: int = 1) -> Parser[float]:
    """Return a parser of decimal numbers from *low* to *high*, both included. The value is *factor* times the number."""

    def parse(text: str) -> float:
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
            raise BadValueError()
        return _check_range(float(text), low, high) * factor

    return Parser(f"{low:g} to {high:g} {unit}", parse, show=lambda value: f"{value / factor:g} {unit}")


def duration(low_s: float, high_s: float, default_unit: str) -> Parser[float]:
    """Return a parser of durations such as `200 ms`, in seconds. A number without a unit counts *default_unit*."""

    def parse(text: str) -> float:
        return _check_range(float(parse_duration(text, default_unit)), low_s, high_s)

    bounds = f"{show_seconds(low_s)} to {show_seconds(high_s)}"
    domain = f"a duration of {bounds} ({_UNIT_NAMES[default_unit]} when no unit is given)"
    return Parser(domain, parse, show=show_seconds, low=low_s, high=high_s)


def byte_size() -> Parser[int]:
    """Return a parser of sizes such as `64m` or `20gb`, in bytes. Units are powers of 1024."""

    def parse(text: str) -> int:
        amount, unit = split_quantity(text)
        if unit not in _BYTES:
            raise BadValueError("The units are b, k, m, g and t.")
        return _check_range(int(amount * _BYTES[unit]), 1, None)

    return Parser("a size in bytes, such as 65536, 64m or 20gb", parse)


def stream_names() -> Parser[tuple[str, ...]]:
    """Return a parser of one stream name, or several separated by commas."""

    def check(name: str) -> None:
        if name.startswith("arn:"):
            raise BadValueError("Set ARNs with the option 'streamARN'.")
        if not STREAM_NAME.fullmatch(name):
            raise BadValueError()

    domain = "stream names of 1 to 128 letters, digits, '_', '.' and '-', separated by commas"
    return Parser(domain, lambda text: _split_list(text, check))


def stream_arns() -> Parser[tuple[str, ...]]:
    """Return a parser of one stream ARN, or several separated by commas."""
    return list_of(
        _STREAM_ARN, "ARNs such as arn:aws:kinesis:eu-west-1:123456789012:stream/orders, separated by commas"
    )


def list_of(pattern: str | re.Pattern[str], domain: str) -> Parser[tuple[str, ...]]:
    """Return a parser of one or more items separated by commas. Each item matches *pattern* as a whole."""
    item = matching(pattern, domain)
    return Parser(domain, lambda text: _split_list(text, item.parse))


def region() -> Parser[str]:
    """Return a parser of region names."""

    def parse(text: str) -> str:
        if not _REGION.fullmatch(text.lower()):
            raise BadValueError()
        return text.lower()

    return Parser("the name of an AWS region, such as eu-west-1", parse)


def url(default_scheme: str = "") -> Parser[str]:
    """Return a parser of http and https URLs. A host alone is accepted if there is a *default_scheme* for it."""

    def parse(text: str) -> str:
        full = f"{default_scheme}://{text}" if default_scheme and "://" not in text else text
        try:
            verify_url(full)
        except BadUrlError as error:
            raise BadValueError(error.hint, hides_value=error.hides_url) from None
        return full.rstrip("/")

    scheme = "" if not default_scheme else " or a host"
    return Parser(f"an http or https URL{scheme}, such as https://kinesis.eu-west-1.amazonaws.com", parse)


def matching(pattern: str | re.Pattern[str], domain: str) -> Parser[str]:
    """Return a parser of text that matches *pattern* as a whole."""

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise BadValueError()
        return text

    return Parser(domain, parse)


def text(domain: str) -> Parser[str]:
    """Return a parser of any text that is not blank."""

    def parse(value: str) -> str:
        if not value:
            raise BadValueError()
        return value

    return Parser(domain, parse)


def optional_text(domain: str) -> Parser[str | None]:
    """Return a parser of any text. Blank text means not given."""
    return Parser(domain, lambda value: value or None)


def tags() -> Parser[dict[str, str]]:
    """Return a parser of the tags of a consumer."""

    def parse(text: str) -> dict[str, str]:
        pairs = [pair.partition("=") for pair in text.split(",")]
        found = {key.strip(): value.strip() for key, _, value in pairs}
        if len(found) < len(pairs):
            raise BadValueError("A key stands there twice.")
        if not all(equals for _, equals, _ in pairs):
            raise BadValueError("A tag has no '='.")
        if fault := fault_of_tags(found):
            raise BadValueError(fault)
        return found

    return Parser("tags as `KEY=VALUE`, separated by commas, such as team=orders,stage=test", parse)


N = TypeVar("N", int, float)


def _check_range(value: N, low: N, high: N | None) -> N:
    if value < low or (high is not None and value > high):
        raise BadValueError()
    return value


def _split_list(text: str, check: Callable[[str], object]) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(","))
    for item in items:
        check(item)
    if len(set(items)) < len(items):
        raise BadValueError("An item occurs twice.")
    return items


def show_seconds(seconds: float) -> str:
    """Return *seconds* as a user writes them, in the largest unit that divides them."""
    if seconds and seconds < 1:
        return f"{seconds * 1000:g} ms"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds and seconds % size == 0:
            return f"{seconds // size:g} {unit}"
    return f"{seconds:g} s"
