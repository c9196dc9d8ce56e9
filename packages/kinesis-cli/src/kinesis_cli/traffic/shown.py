"""Samples as cells of a table, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinesis_cli.output import show_bytes, show_count, show_duration
from kinesis_cli.traffic.samples import ABOUT, AT_LEAST, EXACT, Sample, Total

if TYPE_CHECKING:
    from rich.text import Text

    from kinesis_core.model import StreamSummary

_WARM = 0.5
_WORDS = {EXACT: "", ABOUT: "about ", AT_LEAST: "at least "}
_LONGEST_KEY = 60


RATES = ("RECORDS/S", "BYTES/S", "LOAD")
"""The headings of `rate_cells`."""


def rate_cells(sample: Sample | None) -> list[Text]:
    """Return records/s, bytes/s and the load; `?` for each if there is no sample."""
    from rich.text import Text

    if sample is None:
        return [Text("?") for _ in range(3)]
    return [
        Text(f"{sample.sign}{show_count(round(sample.records_per_s, 1))}"),
        Text(f"{sample.sign}{show_bytes(sample.bytes_per_s)}"),
        Text(f"{'hot ' if sample.is_hot else ''}{sample.sign}{sample.load:.0%}", style=load_style(sample)),
    ]


def load_style(sample: Sample | None) -> str:
    """Return the colour of a shard."""
    if sample is None:
        return ""
    return "bold red" if sample.is_hot else "yellow" if sample.load >= _WARM else "green"


def total_line(total: Total, sample_ms: int) -> str:
    """Return the sum of the samples as a sentence."""
    span = show_duration(sample_ms) if sample_ms % 1000 or sample_ms >= 60_000 else f"{sample_ms // 1000} s"
    return f"In, over the last {span}: {_WORDS[total.sign]}{rate_words(total)}."


def rate_words(total: Total) -> str:
    """Return the rates of *total*. User records are counted where some came in aggregates."""
    users = total.user_records_per_s
    user_text = f" ({show_count(round(users, 1))} user records/s)" if users != total.records_per_s else ""
    return (
        f"{show_count(round(total.records_per_s, 1))} records/s{user_text}, {show_bytes(total.bytes_per_s)}/s"
    )


def show_mode(summary: StreamSummary) -> str:
    return summary.mode.lower().replace("_", "-")


def show_key(key: str) -> str:
    """Return a partition key on one line. Characters that would control the terminal are escaped."""
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in key)
    return shown if len(shown) <= _LONGEST_KEY else f"{shown[: _LONGEST_KEY - 1]}…"


def rates_json(sample: Sample) -> dict[str, Any]:
    """Return the rates of a sample."""
    return {
        "recordsPerSecond": round(sample.records_per_s, 3),
        "userRecordsPerSecond": round(sample.user_records_per_s, 3),
        "bytesPerSecond": round(sample.bytes_per_s, 3),
        "load": round(sample.load, 4),
        "isHot": sample.is_hot,
        "isComplete": sample.sign == EXACT,
        "coveredMs": sample.covered_ms,
    }
