"""
The common part of the readers of `spark.readStream`, on the driver.

Spark creates a reader in a process that lives as long as the query. It creates another reader in a process that pickles it for
the tasks. So creating one makes no call. The planner, and botocore with it, is imported and opened when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kinesis_core.clock import SteadyClock, SystemClock
from kinesis_core.for_spark import plain_errors
from kinesis_core.model import Offset
from spark_kinesis_source.partitions import ShardPartition, split
from spark_kinesis_source.task import ReadTask, for_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from kinesis_core.leases import LeasePublisher
    from kinesis_core.planning import BatchGate, PlanAhead, Planner
    from spark_kinesis_source.fan_out import QueryConsumers
    from spark_kinesis_source.options import SourceOptions

Json = dict[str, Any]


class StreamReader(DataSourceStreamReader):
    """The base of the readers for all versions of Spark, which differ in `latestOffset`."""

    may_be_planned_once: ClassVar[bool]
    """Whether a run may have one plan only."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self._task = ReadTask.of(options, columns)
        self._opened: Planner | None = None
        self._gate: BatchGate | None = None
        self._ahead: PlanAhead | None = None
        self._publisher: LeasePublisher | None = None
        self._consumers: QueryConsumers | None = None
        self._wakers: QueryConsumers | None = None
        self._initial: Offset | None = None

    def __reduce__(self) -> tuple[Callable[[ReadTask], ReadTask], tuple[ReadTask]]:
        return for_tasks, (self._task,)

    @property
    def planner(self) -> Planner:
        if self._opened is None:
            from spark_kinesis_source.fan_out import QueryConsumers
            from spark_kinesis_source.planner_factory import open_planner, open_publisher

            planner = open_planner(self.options, is_planned_once=self.may_be_planned_once)
            self._publisher = open_publisher(self.options)
            if self.options.fan_out is not None:
                self._consumers = QueryConsumers(self.options.connection, self.options.fan_out)
            self._opened = planner
        return self._opened

    def listen(self) -> None:
        """Let a consumer tell of new records, if the options ask for it. A query that ends by itself does not call this."""
        if self.options.wake is not None and self._wakers is None:
            from spark_kinesis_source.fan_out import QueryConsumers

            self._wakers = QueryConsumers(self.options.connection, self.options.wake)
            self.planner.listen(self._wakers.subscriptions)

    @property
    def gate(self) -> BatchGate:
        """The gate that delays small batches, as far as the options ask for it."""
        if self._gate is None:
            from kinesis_core.planning import BatchGate

            minimum, delay_s = self.options.min_records_per_trigger, self.options.max_trigger_delay_s
            self._gate = BatchGate(self.planner, minimum, delay_s, SteadyClock())
        return self._gate

    @property
    def plans(self) -> PlanAhead:
        """Plans the next batch while Spark processes the current one. This process is otherwise idle."""
        if self._ahead is None:
            from kinesis_core.planning import PlanAhead

            self._ahead = PlanAhead(self.gate, SystemClock())
        return self._ahead

    def resolve_initial_offset(self) -> Offset:
        # Spark asks twice in a query's first run, and LATEST must mean the same offset both times.
        if self._initial is None:
            from spark_kinesis_source.planner_factory import begin

            self._initial, _ = begin(self.planner, self.options, self.options.starting_position)
        return self._initial

    @plain_errors()
    def initialOffset(self) -> Json:
        return self.resolve_initial_offset().to_json()

    @staticmethod
    def as_json(end: Offset, start: Offset, saved: Json) -> Json:
        """
        Return *end* for Spark, where *start* was read from *saved*.

        Spark runs a batch whenever the text changes. So an offset that an older release has written keeps its form until it changes.
        """
        return saved if end == start else end.to_json()

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        groups = self.planner.range_groups(Offset.from_json(start), Offset.from_json(end))
        arns = None if self._consumers is None else self._consumers.arns
        return [*split(groups, self.options.shards_per_task, self.options.max_partitions, arns)]

    def read(self, partition: ShardPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override] # our own
        return self._task.read(partition)

    @plain_errors()
    def commit(self, end: Json) -> None:
        """Publish progress, if the options ask for it. Spark's checkpoint has it already."""
        self.publish(Offset.from_json(end))

    def publish(self, reached: Offset) -> None:
        """
        Publish that everything before *reached* has been processed, if the options ask for it.

        Spark commits a batch after it has planned the next one, which takes hours on an idle stream. But it plans from the
        end of a batch as soon as that batch is done, so the readers publish it then.
        """
        if self._publisher is not None:
            self._publisher.publish(reached)

    def stop(self) -> None:
        with ExitStack() as last:
            # Registered consumers cost money, so they are removed whatever fails before.
            for consumers in (self._consumers, self._wakers):
                if consumers is not None:
                    last.callback(consumers.remove)
            if self._ahead is not None:
                self._ahead.close()
            if self._opened is not None:
                self._opened.close()
            if self._publisher is not None:
                self._publisher.close()
