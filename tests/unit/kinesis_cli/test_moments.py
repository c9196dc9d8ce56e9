"""Points in time as people type them."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import UsageError
from kinesis_cli.moments import parse_duration_ms, parse_end, parse_sample, parse_start
from kinesis_core import AtTimestamp, Latest, TrimHorizon

NOW_MS = 1_790_000_000_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("10m", 600_000),
        ("1.5h", 5_400_000),
        ("2 d", 172_800_000),
        ("250ms", 250),
        ("3S", 3000),
        ("1min", 60_000),
        ("1h 30m", 5_400_000),
        ("PT90M", 5_400_000),
    ],
)
def test_a_time_ago(text: str, ms: int) -> None:
    """A number with a unit is a time before now."""
    assert parse_duration_ms(text) == ms
    assert (
        parse_start(text, "--since", NOW_MS) == parse_end(text, "--until", NOW_MS) == AtTimestamp(NOW_MS - ms)
    )


@pytest.mark.parametrize("text", ["10", "m", "-5m", "10 weeks", ""])
def test_what_is_no_time_ago(text: str) -> None:
    """A number alone could be anything."""
    assert parse_duration_ms(text) is None


def test_dates_and_times_without_a_zone_are_in_utc() -> None:
    """They mean the same on every machine. A zone that is given counts."""
    midnight = AtTimestamp(1_769_817_600_000)
    for text in ("2026-01-31", "2026-01-31T00:00", "2026-01-31 00:00:00Z", "2026-01-31T02:00+02:00"):
        assert parse_start(text, "--since", NOW_MS) == parse_end(text, "--until", NOW_MS) == midnight


def test_durations_with_ago() -> None:
    """They are read as by the option startingPosition."""
    for text in ("3h ago", "PT3H", "AT_TIMESTAMP 3h"):
        assert parse_start(text, "--since", NOW_MS) == AtTimestamp(NOW_MS - 10_800_000)
    with pytest.raises(UsageError, match=r"--since does not accept '-3h'.*has no sign"):
        parse_start("-3h", "--since", NOW_MS)


def test_more_than_since_1970() -> None:
    """A time before 1970 is 1970: Kinesis knows no earlier one."""
    assert parse_start("99999d", "--since", NOW_MS) == AtTimestamp(0)


def test_positions_of_kinesis() -> None:
    """Everything that the option startingPosition accepts is accepted, and `now`."""
    assert parse_start("TRIM_HORIZON", "--since", NOW_MS) == TrimHorizon()
    assert parse_start("now", "--since", NOW_MS) == parse_end("now", "--until", NOW_MS) == Latest()
    assert parse_start("1970-01-01T00:00:01Z", "--since", NOW_MS) == AtTimestamp(1000)


def test_errors_name_the_option() -> None:
    """The error has the option, the text and examples."""
    with pytest.raises(UsageError, match=r"--since does not accept 'soon'\. Examples: 10m .*TRIM_HORIZON"):
        parse_start("soon", "--since", NOW_MS)
    with pytest.raises(UsageError, match=r"--until does not accept 'TRIM_HORIZON'\. Examples: 10m"):
        parse_end("TRIM_HORIZON", "--until", NOW_MS)


@pytest.mark.parametrize(("text", "ms"), [("1s", 1000), ("1500ms", 1500), ("5m", 300_000), ("1h", 3_600_000)])
def test_samples(text: str, ms: int) -> None:
    """A sample is of 1 second to 1 hour."""
    assert parse_sample(text) == ms


def test_a_saved_offset_is_not_a_position() -> None:
    """The error names the option and both versions."""
    for parse, option, advice in (
        (parse_start, "--since", "Give a time, or a position such as TRIM_HORIZON"),
        (parse_end, "--until", "Give a time, or LATEST"),
    ):
        with pytest.raises(
            UsageError,
            match=rf"^{option} does not accept an offset.*has version 99\. This release reads versions 1 and 2\. {advice}\.$",
        ):
            parse('{"version": 99}', option, 0)


@pytest.mark.parametrize("text", ["", "10", "999ms", "61m", "now", "-5s"])
def test_other_samples_are_refused(text: str) -> None:
    """Any other value is an error that names the option and the value."""
    with pytest.raises(UsageError, match=f"--sample is '{text}'. Use .*"):
        parse_sample(text)
