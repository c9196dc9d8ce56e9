"""The option --sample."""

from __future__ import annotations

from kinesis_cli.ending import UsageError
from kinesis_cli.moments import parse_ago

_SHORTEST_MS, _LONGEST_MS = 1000, 3_600_000


def parse_sample(text: str) -> int:
    """
    Return the milliseconds that the value of --sample names.

    Raises:
        UsageError: It names none, or is not within 1 s to 1 h.
    """
    sample_ms = parse_ago(text)
    if sample_ms is None or not _SHORTEST_MS <= sample_ms <= _LONGEST_MS:
        raise UsageError(f"--sample accepts a time of 1s to 1h, such as 30s or 5m; got '{text}'.")
    return sample_ms
