"""Numbers and times as people read them."""

from __future__ import annotations

import pytest

from kinesis_cli.output import show_bytes, show_count, show_duration, show_time


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (850, "850 ms"),
        (999.6, "1.0 s"),
        (3249, "3.2 s"),
        (59_960, "1 min"),
        (90_000, "1 min 30 s"),
        (3_840_000, "1 h 4 min"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (86_400_000 * 40, "40 d"),
    ],
)
def test_durations(ms: float, text: str) -> None:
    """A duration has one or two units."""
    assert show_duration(ms) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 MiB"), (1023.99, "1.0 KiB"), (2**40, "1024.0 GiB")],
)
def test_bytes(count: float, text: str) -> None:
    """A size has a binary unit."""
    assert show_bytes(count * 1024 if text == "1.5 MiB" else count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (0.25, "0.2"), (9.96, "10.0"), (10.4, "10"), (12_345, "12,345")]
)
def test_counts(count: float, text: str) -> None:
    """A number has commas, and a decimal where it is small."""
    assert show_count(count) == text


def test_times() -> None:
    """A time is ISO 8601 in UTC with milliseconds."""
    assert show_time(1_790_000_000_007) == "2026-09-21T14:13:20.007Z"
    assert show_time(None) == "-"
