"""The streaming reader for Spark 4.2 and later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kinesis_core.for_spark import plain_errors
from kinesis_core.model import MAX_PLAIN_SHARDS, Offset
from spark_kinesis_source.reader import Json, StreamReader


class StreamReader42(StreamReader, SupportsTriggerAvailableNow):
    """Spark passes the start of a batch and whether it may be limited."""

    _ends = False
    """Whether the query ends by itself, when it has read what was there."""
    may_be_planned_once = False  # Once has no limit, and AvailableNow continues until it reaches its targets

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return any limit. Spark only passes it back, or ReadAllAvailable instead if the trigger reads everything."""
        return ReadMaxRows(1)

    @plain_errors()
    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        started = Offset.from_json(start)
        plans = self.plans
        self.publish(started)
        is_bounded = not isinstance(limit, ReadAllAvailable)
        if is_bounded and not self._ends:
            self.listen()
        end = plans.next_offset(started, bounded=is_bounded)
        return self.as_json(end, started, start)

    @plain_errors()
    def prepareForTriggerAvailableNow(self) -> None:
        self._ends = True
        self.planner.fix_targets()
        self.gate.open()

    def reportLatestOffset(self) -> Json | None:
        """Return the lag, the retention and the losses. Spark reports it as `latestOffset` in the progress of the query."""
        return describe_lag(self.plans.lag_ms(), self.planner.retention_hours(), self.planner.losses())


_WORST_SHARDS = 20


def describe_lag(
    lag_ms: Mapping[str, Mapping[str, int]],
    retention_hours: Mapping[str, int],
    losses: Mapping[str, int],
) -> dict[str, Any] | None:
    """
    Return the lag in milliseconds per stream and shard, with its maximum, mean and minimum. None before the first plan.

    Spark keeps the last 100 reports on the driver. So of a large stream the report has only the shards that are furthest behind.

    The retention makes the lag comparable: records older than that are lost. *losses* counts the events `data.lost` of the
    planner, which nobody outside its process sees otherwise.

    All of it is part of the report and not of the offset: an offset that changes starts a batch, also on an idle stream.
    """
    values = [millis for shards in lag_ms.values() for millis in shards.values()]
    if not values:
        return None
    return {
        "msBehindLatest": {stream: _shown(shards) for stream, shards in lag_ms.items()},
        "shardCounts": {stream: len(shards) for stream, shards in lag_ms.items()},
        "maxMsBehindLatest": max(values),
        "avgMsBehindLatest": sum(values) // len(values),
        "minMsBehindLatest": min(values),
        "retentionHours": dict(retention_hours),
        "dataLosses": dict(losses),
    }


def _shown(lag_ms: Mapping[str, int]) -> dict[str, int]:
    """Return the lag of all shards of a small stream, or of those that are furthest behind."""
    if len(lag_ms) <= MAX_PLAIN_SHARDS:
        return dict(lag_ms)
    return dict(sorted(lag_ms.items(), key=lambda shard: (-shard[1], shard[0]))[:_WORST_SHARDS])
