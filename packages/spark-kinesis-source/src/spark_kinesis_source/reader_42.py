"""The streaming reader for Spark 4.2 and later."""

from __future__ import annotations

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kinesis_core.for_spark import plain_errors
from kinesis_core.model import Offset
from spark_kinesis_source.lag import describe_lag
from spark_kinesis_source.reader import Json, StreamReader


class StreamReader42(StreamReader, SupportsTriggerAvailableNow):
    """Spark says where a batch starts and whether it may be limited."""

    may_be_planned_once = False  # Once is not limited, and AvailableNow goes on until its targets are reached

    def getDefaultReadLimit(self) -> ReadLimit:
        """
        Return the limit per shard.

        Spark only hands it back, or ReadAllAvailable in its place when the trigger wants everything.
        """
        return ReadMaxRows(self.options.max_records_per_shard)

    @plain_errors()
    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        started = Offset.from_json(start)
        plans = self.plans
        self.publish(started)
        return plans.next_offset(started, bounded=not isinstance(limit, ReadAllAvailable)).to_json()

    @plain_errors()
    def prepareForTriggerAvailableNow(self) -> None:
        self.planner.fix_targets()
        self.gate.open()

    def reportLatestOffset(self) -> Json | None:
        """Return how far the query is behind: it ends up as `latestOffset` in the query's progress."""
        return describe_lag(self.plans.lag_ms())
