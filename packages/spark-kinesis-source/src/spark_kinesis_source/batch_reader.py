"""The reader of `spark.read`: one range per shard, from startingPosition to endingPosition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kinesis_core.for_spark import plain_errors
from kinesis_core.model import check_times
from spark_kinesis_source.partitions import ShardPartition, split
from spark_kinesis_source.planner_factory import begin, open_planner
from spark_kinesis_source.task import ReadTask, for_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_kinesis_source.options import SourceOptions


class KinesisBatchReader(DataSourceReader):
    """Plans once, when Spark plans the query. Every action on that plan reads the same records."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        # A streaming query ignores the end, so parsing does not check this.
        streams = [ref.label for ref in options.connection.streams]
        check_times(streams, options.batch_starting_position, options.ending_position)
        self._options = options.for_batch_read()
        self._task = ReadTask.of(self._options, columns)

    def __reduce__(self) -> tuple[Callable[[ReadTask], ReadTask], tuple[ReadTask]]:
        return for_tasks, (self._task,)

    @plain_errors()
    def partitions(self) -> list[InputPartition]:
        options = self._options
        with closing(open_planner(options)) as planner:
            start, started_at = begin(planner, options, options.batch_starting_position)
            end = planner.end_offset(start, options.ending_position, started_at)
            groups = planner.range_groups(start, end)
        # Spark replaces an empty list by InputPartition(None).
        return [*split(groups, options.shards_per_task, options.max_partitions)] or [ShardPartition(())]

    def read(self, partition: ShardPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override] # our own
        return self._task.read(partition)
