"""What runs in Spark's tasks: the ranges of one partition as Arrow record batches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from kinesis_core.arrow import BatchBuilder
from kinesis_core.chain_reader import read_chains
from kinesis_core.clock import SystemClock
from kinesis_core.connections import open_stream
from kinesis_core.for_spark import freeze_heap, plain_errors
from kinesis_core.options import ConnectionOptions
from kinesis_core.ranges import Chain
from kinesis_core.reader import PolledRanges, ReadSettings
from kinesis_core.stream_api import StreamApi
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.streams import label

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class ReadTask:
    """Reads partitions. It is pickled with every task, so it is small: options, and names of columns."""

    connection: ConnectionOptions
    settings: ReadSettings
    columns: tuple[str, ...]
    deaggregate: bool
    freezes_heap: bool

    @staticmethod
    def of(options: SourceOptions, columns: tuple[str, ...]) -> ReadTask:
        settings = ReadSettings(
            max_records_per_fetch=options.max_records_per_fetch,
            min_fetch_period_s=options.min_fetch_period_s,
            max_fetch_rate_bytes=options.max_fetch_rate_bytes,
            fail_on_data_loss=options.fail_on_data_loss,
        )
        return ReadTask(
            options.connection, settings, columns, options.deaggregate, options.freeze_worker_heap
        )

    def read(self, chains: tuple[Chain, ...]) -> Iterator[pa.RecordBatch]:
        """Yield one record batch for each page, those of related shards in order."""
        if self.freezes_heap:
            freeze_heap()
        names = {label(ref): ref.name for ref in self.connection.streams}
        builder = BatchBuilder(self.columns, self.deaggregate)
        with plain_errors():
            rng = random.Random()  # noqa: S311 # jitter
            polled = PolledRanges(self._open, self.settings, rng, builder.needs_data)
            for read, page in read_chains(chains, polled, self.settings.threads, SystemClock()):
                yield builder.build(page, names[read.stream], read.shard_id, read.stream, read.skip(page))

    def _open(self, stream: str) -> StreamApi:
        ref = next(ref for ref in self.connection.streams if label(ref) == stream)
        return open_stream(self.connection, ref)
