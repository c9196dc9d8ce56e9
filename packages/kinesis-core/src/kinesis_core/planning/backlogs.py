"""A warning where one unbounded batch takes a long backlog."""

from __future__ import annotations

from collections.abc import Callable

from kinesis_core.model import StreamOffset
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

LONG_HOURS = 6.0
"""A quarter of the shortest retention. Such a batch takes long, and its first records may expire before it is done."""
_HOUR_MS = 3_600_000


def warn_of_backlog(stream: str, end: StreamOffset, retention_hours: Callable[[], int]) -> None:
    """Log how many hours the batch that ends at *end* reaches back, and over how many shards, if that is long."""
    estimates = [p.estimate for p in end.shards.values() if p.first is not None]
    ages_ms = [e.age_ms for e in estimates if e is not None and e.age_ms is not None]
    hours = max(ages_ms, default=0) / _HOUR_MS
    if hours >= LONG_HOURS:
        log.warning(
            "backlog.planned",
            stream=stream,
            shards=len(estimates),
            hours=round(hours, 1),
            retention_hours=retention_hours(),
        )
