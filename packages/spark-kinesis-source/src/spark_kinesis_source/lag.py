"""What a query reports of itself, for Spark's progress reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_lag(
    lag_ms: Mapping[str, Mapping[str, int]],
    retention_hours: Mapping[str, int],
    losses: Mapping[str, int],
) -> dict[str, Any] | None:
    """
    Return the lag in milliseconds per stream and shard, with its maximum, mean and minimum. None before the first plan.

    The retention makes the lag comparable: records older than that are lost. *losses* counts the events `data.lost` of the
    planner, which nobody outside its process sees otherwise.

    All of it is part of the report and not of the offset: an offset that changes starts a batch, also on an idle stream.
    """
    values = [millis for shards in lag_ms.values() for millis in shards.values()]
    if not values:
        return None
    return {
        "msBehindLatest": {stream: dict(shards) for stream, shards in lag_ms.items()},
        "maxMsBehindLatest": max(values),
        "avgMsBehindLatest": sum(values) // len(values),
        "minMsBehindLatest": min(values),
        "retentionHours": dict(retention_hours),
        "dataLosses": dict(losses),
    }
