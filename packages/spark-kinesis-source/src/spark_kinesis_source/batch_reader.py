"""The reader of `spark.read`: one range per shard, from startingPosition to endingPosition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kinesis_core.clock import SystemClock
from kinesis_core.for_spark import plain_errors
from kinesis_core.model import check_times
from spark_kinesis_source.filters import Wanted, read_filters
from spark_kinesis_source.partitions import ShardPartition, split
from spark_kinesis_source.planner_factory import begin, certain_from_ms, open_planner
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
        self._wanted = Wanted()
        self._names = {ref.label: ref.name for ref in options.connection.streams}

    def __reduce__(self) -> tuple[Callable[[ReadTask], ReadTask], tuple[ReadTask]]:
        return for_tasks, (self._task,)

    @plain_errors()
    def partitions(self) -> list[InputPartition]:
        options, wanted = self._options, self._wanted
        if wanted.is_nothing:
            return [ShardPartition(())]
        position, ending = options.batch_starting_position, options.ending_position
        with closing(open_planner(options)) as planner:
            if wanted != Wanted():
                now_ms = int(SystemClock().now_s() * 1000)
                position = wanted.start(position, certain_from_ms(options.connection), now_ms)
                ending = wanted.end(ending, now_ms)
            start, started_at = begin(planner, options, position)
            # A read that starts after its end is a mistake of the user, unless a condition moved one of them: then it is empty.
            is_as_given = ending == options.ending_position and position == options.batch_starting_position
            end = planner.end_offset(start, ending, started_at if is_as_given else None)
            groups = wanted.groups(planner.range_groups(start, end), self._names)
        # Spark replaces an empty list by InputPartition(None).
        return [*split(groups, options.shards_per_task, options.max_partitions)] or [ShardPartition(())]

    def read(self, partition: ShardPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override] # our own
        return self._task.read(partition)


class FilteringBatchReader(KinesisBatchReader):
    """
    A batch reader that Spark passes the conditions of a query to.

    It is a class of its own because Spark refuses a reader with `pushFilters` while its push-down of filters is off, as it is by
    default.
    """

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        """Read only what can meet *filters*. Spark applies all of them as well."""
        self._wanted = read_filters(filters)
        return filters
