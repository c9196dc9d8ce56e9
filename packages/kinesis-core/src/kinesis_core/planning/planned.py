"""The event `batch.planned`: one line for each batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kinesis_core.model import Offset
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


def log_planned(
    start: Offset, end: Offset, duration_s: float, lag_ms: Mapping[str, Mapping[str, int]], left: int = 0
) -> None:
    """
    Log a batch from *start* to *end*, whose plan left *left* shards for the next one. Nothing is logged when nothing is new.

    The code that returns a batch to its user calls this. A planner does not: a gate may hold its plan back, and a newer plan
    may replace it.
    """
    if end is start or not log.is_enabled_for(logging.INFO):
        return
    changed = {name: stream for name, stream in end.streams.items() if stream is not start.streams.get(name)}
    if changed:
        log.info(
            "batch.planned",
            stream=",".join(changed),
            shards=sum(p.first is not None for stream in changed.values() for p in stream.shards.values()),
            duration_s=round(duration_s, 3),
            lag_ms=max((ms for shards in lag_ms.values() for ms in shards.values()), default=0),
            **({"left": left} if left else {}),
        )
