"""Parsers: accepted values, refused values, and how the reference page shows a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_core.model import Latest, TrimHorizon
from kinesis_core.options import (
    BadValueError,
    Parser,
    boolean,
    byte_size,
    duration,
    ending_position,
    integer,
    number,
    one_of,
    or_none,
    starting_position,
    text,
    url,
)
from kinesis_core.options.foreign.forms import read_in
from kinesis_core.options.parsers import region, stream_arns, stream_names

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
CHINA_ARN = "arn:aws-cn:kinesis:cn-north-1:123456789012:stream/Or.d_e-rs"


@pytest.mark.parametrize(
    ("parser", "value", "expected"),
    [
        (boolean(), "true", True),
        (boolean(), "FALSE", False),
        (integer(1, 10), "1", 1),
        (integer(1, 10), "10", 10),
        (integer(1, None), "999999999999", 999999999999),
        (number(0.01, 2, "MiB/s", factor=1024), "0.5", 512.0),
        (duration(0, 60, "ms"), "200 ms", 0.2),
        (duration(0, 60, "ms"), "200", 0.2),
        (duration(0, 60, "s"), "1", 1.0),
        (duration(0, 600, "ms"), "5m", 300.0),
        (duration(0, 600, "ms"), "0.5 Seconds", 0.5),
        (duration(0, 60, "ms"), "0", 0.0),
        (duration(0, 1e9, "ms"), "2 h", 7200.0),
        (duration(0, 1e9, "ms"), "1d", 86400.0),
        (byte_size(), "65536", 65536),
        (byte_size(), "64m", 64 * 1024**2),
        (byte_size(), "20GB", 20 * 1024**3),
        (byte_size(), "1.5 KiB", 1536),
        (read_in("s")(byte_size()), "10", 20 * 1024**2),
        (read_in("ms")(byte_size()), "10s", 20 * 1024**2),
        (read_in("ms")(byte_size()), "500", 1024**2),
        (stream_names(), "orders", ("orders",)),
        (stream_names(), "orders, pay.ments_-1", ("orders", "pay.ments_-1")),
        (stream_arns(), f"{ARN},{CHINA_ARN}", (ARN, CHINA_ARN)),
        (region(), "us-gov-west-1", "us-gov-west-1"),
        (region(), "EU-West-1", "eu-west-1"),
        (url(), "http://127.0.0.1:4567/", "http://127.0.0.1:4567"),
        (url(), "https://kinesis.eu-west-1.amazonaws.com", "https://kinesis.eu-west-1.amazonaws.com"),
        (url(), "http://[::1]:4567", "http://[::1]:4567"),
        (
            url(default_scheme="https"),
            "kinesis.eu-west-1.amazonaws.com",
            "https://kinesis.eu-west-1.amazonaws.com",
        ),
        (text("a name"), "x", "x"),
    ],
)
def test_accepts(parser: Parser[Any], value: str, expected: object) -> None:
    """A value in the domain is converted."""
    assert parser.parse(value) == expected


@pytest.mark.parametrize(
    ("parser", "value"),
    [
        (boolean(), "yes"),
        (boolean(), ""),
        (integer(1, 10), "0"),
        (integer(1, 10), "11"),
        (integer(1, 10), "-1"),
        (integer(1, 10), "1.5"),
        (integer(1, 10), "1e3"),
        (integer(1, None), "9" * 5000),
        (number(0.01, 2, "MiB/s"), "0"),
        (number(0.01, 2, "MiB/s"), "nan"),
        (duration(0, 60, "ms"), "61 s"),
        (duration(0, 60, "ms"), "-1 s"),
        (duration(0, 60, "ms"), "1 fortnight"),
        (duration(0, 60, "ms"), "s"),
        (duration(0, 60, "ms"), ""),
        (byte_size(), "0"),
        (byte_size(), "0.1"),
        (byte_size(), "12 parsec"),
        (stream_names(), ""),
        (stream_names(), "orders,"),
        (stream_names(), "orders,orders"),
        (stream_names(), "or ders"),
        (stream_names(), "x" * 129),
        (stream_names(), ARN),
        (stream_arns(), "orders"),
        (stream_arns(), f"{ARN}/consumer/x:1"),
        (region(), "eu_west_1"),
        (region(), "Ireland"),
        (url(), "kinesis.eu-west-1.amazonaws.com"),
        (url(), "ftp://example.com"),
        (url(), "http://"),
        (url(), "http://host:port"),
        (url(), "http://host:99999"),
        (url(), "http://[::1"),
        (url(), "http://host/?x=1"),
        (text("a name"), ""),
    ],
)
def test_refuses(parser: Parser[Any], value: str) -> None:
    """A value outside the domain is refused."""
    with pytest.raises(BadValueError):
        parser.parse(value)


@pytest.mark.parametrize(
    "text",
    [
        "https://user:s3cr3t@example.com",
        "https://example.com/?token=s3cr3t",
        "https://example.com/#s3cr3t",
        "example.com?token=s3cr3t",
    ],
)
def test_secret_in_url(text: str) -> None:
    """A URL with a password or a token is refused, and no message may show it."""
    with pytest.raises(BadValueError) as caught:
        url().parse(text)
    assert caught.value.hides_value
    assert "s3cr3t" not in caught.value.hint


@pytest.mark.parametrize(
    ("parser", "domain"),
    [
        (boolean(), "true or false"),
        (integer(1, 10, "records"), "1 to 10 records"),
        (integer(1, None, "records"), "1 or more records"),
        (duration(0, 60, "ms"), "a duration of 0 s to 1 m (milliseconds when no unit is given)"),
        (duration(0.001, 86400, "s"), "a duration of 1 ms to 1 d (seconds when no unit is given)"),
        (duration(0.5, 7200, "s"), "a duration of 500 ms to 2 h (seconds when no unit is given)"),
        (number(0.01, 2, "MiB/s"), "0.01 to 2 MiB/s"),
    ],
)
def test_domains(parser: Parser[Any], domain: str) -> None:
    """The domain completes the sentence "Option 'x' accepts ..."."""
    assert parser.domain == domain


@pytest.mark.parametrize(
    ("parser", "value", "shown"),
    [
        (boolean(), True, "`true`"),
        (one_of({"GetRecords": 1, "polling": 1, "efo": 2}), 1, "`GetRecords`"),
        (integer(1, 10, "records"), 5, "5 records"),
        (integer(1, 10, "records"), 1, "1 record"),
        (integer(1, 10), 5, "5"),
        (number(0.01, 10, "MiB/s", factor=1024), 2048.0, "2 MiB/s"),
        (duration(0, 60, "ms"), 0.2, "200 ms"),
        (duration(0, 60, "ms"), 1.5, "1.5 s"),
        (duration(0, 900, "s"), 900.0, "15 m"),
        (duration(0, 86400, "s"), 86400.0, "1 d"),
        (duration(0, 60, "s"), 0.0, "0 s"),
        (text("a name"), "spark_", "`spark_`"),
        (starting_position(), TrimHorizon(), "`TRIM_HORIZON`"),
        (ending_position(), Latest(), "`LATEST`"),
    ],
)
def test_shown_values(parser: Parser[Any], value: object, shown: str) -> None:
    """The reference page shows words as a user types them, and quantities with their unit."""
    assert parser.show(value) == shown


@given(st.integers(0, 10**8))
def test_shown_durations(milliseconds: int) -> None:
    """A duration that is shown can be typed: its parser returns the same value."""
    parser = duration(0, 1e9, "ms")
    assert parser.parse(parser.show(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, rel=1e-5)


def test_a_value_or_none() -> None:
    """The word is no value. Everything else is as for the parser that it extends."""
    parser = or_none(duration(0.1, 600, "ms"))
    assert [parser.parse(text) for text in ("none", "None", "2 s")] == [None, None, 2.0]
    assert [parser.show(value) for value in (None, 2.0)] == ["`none`", "2 s"]
    with pytest.raises(BadValueError):
        parser.parse("no")
    assert parser.domain.endswith("(milliseconds when no unit is given), or none")


@given(st.integers(0, 10**9), st.sampled_from(["ms", " ms", "", "  Millis"]))
def test_any_milliseconds(milliseconds: int, unit: str) -> None:
    """Every whole number of milliseconds is parsed exactly."""
    assert duration(0, 1e9, "ms").parse(f"{milliseconds}{unit}") == milliseconds / 1000


@given(st.text(max_size=40))
def test_any_text(value: str) -> None:
    """A parser returns a value for any text, or refuses it. Nothing else happens."""
    for parser in (
        duration(0, 60, "ms"),
        byte_size(),
        stream_names(),
        stream_arns(),
        region(),
        url(),
        integer(0, 9),
    ):
        try:
            parser.parse(value)
        except BadValueError:
            continue
