"""The reader of `spark.read`: one range per shard, from startingPosition to endingPosition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kinesis_core.for_spark import plain_errors
from kinesis_core.model import check_times
from kinesis_core.planning import Wanted
from spark_kinesis_source.filters import read_filters
from spark_kinesis_source.partitions import ShardPartition, split
from spark_kinesis_source.planner_factory import begin, open_planner
from spark_kinesis_source.task import ReadTask, for_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from kinesis_core.model import RangeGroup
    from kinesis_core.planning import Planner
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

    def __reduce__(self) -> tuple[Callable[[ReadTask], ReadTask], tuple[ReadTask]]:
        return for_tasks, (self._task,)

    @plain_errors()
    def partitions(self) -> list[InputPartition]:
        if self._wanted.is_nothing:
            return [ShardPartition(())]
        with closing(open_planner(self._options)) as planner:
            groups = self.plan(planner)
        # Spark replaces an empty list by InputPartition(None).
        return [*split(groups, self._options.shards_per_task, self._options.max_partitions)] or [
            ShardPartition(())
        ]

    def plan(self, planner: Planner) -> list[RangeGroup]:
        """
        Return the ranges between the positions of the read, without those that have no wanted record.

        Raises:
            OptionError: A position is in the future or names what does not exist, or all shards start after their end.
            DataLossError: Records of the read have expired, or may have, and a loss stops the query.
        """
        options, wanted = self._options, self._wanted
        position, ending = wanted.positions(planner, options.batch_starting_position, options.ending_position)
        # A read that starts after its end is a mistake of the user, unless a condition moved one of them: then it is empty.
        is_as_given = ending == options.ending_position and position == options.batch_starting_position
        start, started_at = begin(planner, options, position)
        end = planner.end_offset(start, ending, started_at if is_as_given else None)
        names = {ref.label: ref.name for ref in options.connection.streams}
        return wanted.groups(planner.range_groups(start, end), names)

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
