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
    """Spark passes the start of a batch and whether it may be limited."""

    may_be_planned_once = False  # Once has no limit, and AvailableNow continues until it reaches its targets

    def getDefaultReadLimit(self) -> ReadLimit:
        """
        Return the limit per shard.

        Spark only passes it back, or ReadAllAvailable instead if the trigger reads everything.
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
        """Return the lag, the retention and the losses. Spark reports it as `latestOffset` in the progress of the query."""
        return describe_lag(self.plans.lag_ms(), self.planner.retention_hours(), self.planner.losses())
