"""The unit of rates in options."""

from __future__ import annotations

from kinesis_core.options import Parser, number

_MEBIBYTE = 1024 * 1024


def rate() -> Parser[float]:
    """Return a parser of rates in MiB/s, as bytes a second."""
    return number(0.01, 1000, "MiB/s", factor=_MEBIBYTE)


def show_rate(bytes_per_s: float) -> str:
    """Return a rate as the option `maxFetchRate` shows it, such as `2 MiB/s`."""
    return rate().show(bytes_per_s)
