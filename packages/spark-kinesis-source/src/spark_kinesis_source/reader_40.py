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
    Spark does not pass the start of a batch, so the reader derives it.

    A restarted query calls partitions(e, e) with its last end before it calls latestOffset(), and Spark calls
    partitions(start, end) for every batch. So the last end that was passed there is the next start. A query that calls
    latestOffset() first is new. A batch that Spark starts at another offset is refused.
    """

    may_be_planned_once = True  # with AvailableNow and Once, which look like other triggers here

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        super().__init__(options if options.has_explicit_limit else options.without_waking(), columns)
        self._reached: tuple[Offset, Json] | None = None
        self._planned: tuple[Offset, Offset] | None = None

    @plain_errors()
    def latestOffset(self) -> Json:  # type: ignore[override] # newer versions pass arguments
        plans = self.plans
        if self._reached is None:
            initial = self.resolve_initial_offset()
            self._reached = initial, initial.to_json()
        start, saved = self._reached
        self.publish(start)
        if self.options.has_explicit_limit:
            self.listen()
        # AvailableNow and Once are one batch here and look like other triggers. So a batch without a limit set by the
        # user contains everything in the stream, as in Spark's Kafka source.
        end = plans.next_offset(start, bounded=self.options.has_explicit_limit)
        self._planned = (start, end)
        return self.as_json(end, start, saved)

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        started, ended = Offset.from_json(start), Offset.from_json(end)
        if self._planned is not None and ended == self._planned[1] and started not in self._planned:
            raise OffsetError(
                "Spark starts this batch at another offset than it was planned from, so its records are uncertain. "
                "Restart the query. If it fails again, use Spark 4.2 or later, which passes the start. "
                f"[planned from {self._planned[0].to_json()}, started at {start}]"
            )
        self._reached = ended, end
        return super().partitions(start, end)
