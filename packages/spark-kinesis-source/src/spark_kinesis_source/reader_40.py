"""The streaming reader for Spark 4.0 and 4.1."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from kinesis_core.errors import OffsetError
from kinesis_core.for_spark import plain_errors
from kinesis_core.model import Offset
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.reader import Json, StreamReader


class StreamReader40(StreamReader):
    """
    Spark does not say where a batch starts, so the reader finds out by itself.

    A restarted query calls partitions(e, e) with its last end before it asks for the latest offset, and every
    batch goes through partitions(start, end). So the last end that was seen there is the next start; a query that
    asks before it has named any is new. Should Spark ever begin a batch elsewhere, it is refused.
    """

    may_be_planned_once = True  # by AvailableNow and Once, which are not told from other triggers

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        super().__init__(options, columns)
        self._reached: Offset | None = None
        self._planned: tuple[Offset, Offset] | None = None

    @plain_errors()
    def latestOffset(self) -> Json:  # type: ignore[override] # newer versions hand more over
        plans = self.plans
        start = self._reached or self.resolve_initial_offset()
        self.publish(start)
        # AvailableNow and Once are one batch here and cannot be told from other triggers, so that without a limit
        # of the user's own a batch holds all there is, as it does in Spark's Kafka source.
        end = plans.next_offset(start, bounded=self.options.has_explicit_limit)
        self._planned = (start, end)
        return end.to_json()

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        started, ended = Offset.from_json(start), Offset.from_json(end)
        if self._planned is not None and ended == self._planned[1] and started not in self._planned:
            raise OffsetError(
                "Spark begins this batch elsewhere than it was planned from, so its records cannot be told for "
                "certain. Start the query again; if it fails again, use Spark 4.2 or later, which names the start. "
                f"[planned from {self._planned[0].to_json()}, begun at {start}]"
            )
        self._reached = ended
        return super().partitions(start, end)
