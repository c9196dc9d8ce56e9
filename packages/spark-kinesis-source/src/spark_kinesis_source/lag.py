"""How far a query is behind its streams, for Spark's progress reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_lag(lag_ms: Mapping[str, Mapping[str, int]]) -> dict[str, Any] | None:
    """
    Return the lag per stream and shard with its greatest, mean and least value; None when no shard was asked yet.

    It belongs into the report and never into an offset, where it would make every idle moment a batch.
    """
    values = [millis for shards in lag_ms.values() for millis in shards.values()]
    if not values:
        return None
    return {
        "msBehindLatest": {stream: dict(shards) for stream, shards in lag_ms.items()},
        "maxMsBehindLatest": max(values),
        "avgMsBehindLatest": sum(values) // len(values),
        "minMsBehindLatest": min(values),
    }
