"""
The readers of spark.readStream: the driver's half of a streaming query.

Spark makes one in a process of its own that lives as long as the query, and another for each pickled copy of
`read`. So making one costs nothing and calls nobody; the planner comes with the first question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kinesis_core.errors import OffsetError
from kinesis_core.offsets import Offset
from kinesis_core.planner import Planner
from spark_kinesis_source.failures import plain_errors
from spark_kinesis_source.lag import describe_lag
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.splits import split
from spark_kinesis_source.streams import open_planner
from spark_kinesis_source.tasks import ReadTask

if TYPE_CHECKING:
    import pyarrow as pa

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark 4.0 and 4.1
    HAS_ADMISSION_CONTROL = False
else:
    HAS_ADMISSION_CONTROL = True

Json = dict[str, Any]


class _StreamReader(DataSourceStreamReader):
    """What the readers for all versions of Spark share."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._task = ReadTask.of(options, columns)
        self._opened: Planner | None = None
        self._initial: Offset | None = None

    @property
    def _planner(self) -> Planner:
        if self._opened is None:
            self._opened = open_planner(self._options)
        return self._opened

    def _initial_offset(self) -> Offset:
        # Spark asks twice in a query's first run, and LATEST must mean the same place both times.
        if self._initial is None:
            self._initial = self._planner.initial_offset(self._options.starting_position)
        return self._initial

    @plain_errors()
    def initialOffset(self) -> Json:
        return self._initial_offset().to_json()

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        chains = self._planner.chains(Offset.from_json(start), Offset.from_json(end))
        return [*split(chains, self._options.shards_per_task, self._options.max_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._task.read(partition.value)

    def commit(self, end: Json) -> None:
        """Do nothing: Spark's checkpoint holds all progress."""

    def stop(self) -> None:
        if self._opened is not None:
            self._opened.close()


if HAS_ADMISSION_CONTROL:

    class KinesisStreamReader(_StreamReader, SupportsTriggerAvailableNow):
        """For Spark 4.2 and later, which says where a batch starts and whether it may be limited."""

        def getDefaultReadLimit(self) -> ReadLimit:
            """
            Return the limit per shard.

            Spark only hands it back, or ReadAllAvailable in its place when the trigger wants everything.
            """
            return ReadMaxRows(self._options.max_records_per_shard)

        @plain_errors()
        def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
            is_bounded = not isinstance(limit, ReadAllAvailable)
            return self._planner.next_offset(Offset.from_json(start), bounded=is_bounded).to_json()

        @plain_errors()
        def prepareForTriggerAvailableNow(self) -> None:
            self._planner.fix_targets()

        def reportLatestOffset(self) -> Json | None:
            """Return how far the query is behind: it ends up as `latestOffset` in the query's progress."""
            return describe_lag(self._planner.lag_ms())

else:

    class KinesisStreamReader(_StreamReader):  # type: ignore[no-redef]
        """
        For Spark 4.0 and 4.1, which do not say where a batch starts.

        A restarted query calls partitions(e, e) with its last end before it asks for the latest offset, and
        every batch goes through partitions(start, end). So the last end that was seen there is the next start;
        a query that asks before it has named any is new.
        """

        def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
            super().__init__(options, columns)
            self._reached: Offset | None = None
            self._planned: tuple[Offset, Offset] | None = None

        @plain_errors()
        def latestOffset(self) -> Json:  # type: ignore[override] # newer versions hand more over
            start = self._reached or self._initial_offset()
            # AvailableNow and Once are one batch here and cannot be told from other triggers, so that without
            # a limit of the user's own a batch holds all there is, as it does in Spark's Kafka source.
            end = self._planner.next_offset(start, bounded=self._options.has_explicit_limit)
            self._planned = (start, end)
            return end.to_json()

        @plain_errors()
        def partitions(self, start: Json, end: Json) -> list[InputPartition]:
            begun, ended = Offset.from_json(start), Offset.from_json(end)
            if self._planned is not None and ended == self._planned[1] and begun != self._planned[0]:
                raise OffsetError(
                    "Spark begins this batch elsewhere than it was planned from, so its records cannot be told "
                    "for certain. Start the query again; if it fails again, use Spark 4.2 or later, which names "
                    f"the start. [planned from {self._planned[0].to_json()}, begun at {start}]"
                )
            self._reached = ended
            return super().partitions(start, end)
