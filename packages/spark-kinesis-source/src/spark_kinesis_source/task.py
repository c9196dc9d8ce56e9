"""Reads the ranges of one partition as Arrow record batches, in a Spark task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import frozen
from pyspark import TaskContext

from kinesis_core.aws import Connection, StreamRef
from kinesis_core.clock import SystemClock
from kinesis_core.for_spark import forget_archives, freeze_heap, plain_errors
from kinesis_core.reading import FanOutSettings, ReadSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from kinesis_core.aws import StreamApi, SubscribeApi
    from kinesis_core.reading import PollingRangeReader
    from kinesis_core.reading.fan_out import FanOutRangeReader
    from spark_kinesis_source.options import SourceOptions
    from spark_kinesis_source.partitions import ShardPartition


@frozen
class ReadTask:
    """Reads partitions. Spark pickles it with every task, so it has only options and column names."""

    connection: Connection
    settings: ReadSettings
    fan_out: FanOutSettings | None
    columns: tuple[str, ...]
    deaggregate: bool
    freeze_worker_heap: bool

    @staticmethod
    def of(options: SourceOptions, columns: tuple[str, ...]) -> ReadTask:
        fan_out = None if options.fan_out is None else options.fan_out.settings
        return ReadTask(
            options.connection,
            options.read,
            fan_out,
            columns,
            options.deaggregate,
            options.freeze_worker_heap,
        )

    def read(self, partition: ShardPartition) -> Iterator[pa.RecordBatch]:
        """Yield one record batch for each page. Those of related shards are in order."""
        # Only tasks need Arrow and botocore. Without them the driver's process that pickles this starts faster.
        from kinesis_core.reading import PollingRangeReader, read_concurrently
        from kinesis_core.reading.arrow import BatchBuilder
        from kinesis_core.threads import keep_freed_memory, share_arenas

        share_arenas()
        keep_freed_memory()
        if self.freeze_worker_heap:
            freeze_heap()
        names = {ref.label: ref.name for ref in self.connection.streams}
        builder, settings = BatchBuilder(self.columns, self.deaggregate), self.settings
        with plain_errors():
            polling = PollingRangeReader(self._open, settings, random.Random(), builder.needs_data)  # noqa: S311 # jitter
            fanned_out = self._fan_out(partition.consumers, polling)
            ranges = fanned_out or polling
            for read, page in read_concurrently(
                partition.groups, ranges, settings.threads, SystemClock(), settings.max_buffered_bytes
            ):
                batch = builder.build(page, names[read.stream], read.shard_id, read.stream, read.skip(page))
                del page  # Spark has the batch while the next page is read
                yield batch
                del batch

            if fanned_out is not None:
                fanned_out.log_polled()
        forget_archives()

    def _open(self, stream: str) -> StreamApi:
        from kinesis_core.aws import stream_client

        return stream_client(self.connection, self._ref(stream))

    def _ref(self, stream: str) -> StreamRef:
        return next(ref for ref in self.connection.streams if ref.label == stream)

    def _fan_out(self, consumers: Mapping[str, str], polling: PollingRangeReader) -> FanOutRangeReader | None:
        """
        Return the reader by *consumers*. None means that this task polls.

        If Spark runs a task again, or twice at once, only the first attempt subscribes. A second subscription would end
        the first one, which may still be reading.
        """
        settings = self.fan_out
        if settings is None or not consumers or (settings.fallback_to_polling and _attempt() > 0):
            return None
        from kinesis_core.aws import subscription_client
        from kinesis_core.reading.fan_out import FanOutRangeReader

        def subscriptions(stream: str) -> SubscribeApi:
            return subscription_client(
                self.connection,
                self._ref(stream),
                consumers[stream],
                settings.transport,
            )

        return FanOutRangeReader(subscriptions, polling, settings, polling.rng)


def for_tasks(task: ReadTask) -> ReadTask:
    """
    Return *task*. A reader pickles as a call of this.

    Spark pickles a reader for its tasks, which only call its `read`. So they need not import what the driver has: the options and
    the planner.
    """
    return task


def _attempt() -> int:
    """Return how often Spark has started this task before. 0 outside Spark."""
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()
