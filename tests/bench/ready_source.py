"""A source with ready record batches: the lower bound of Spark's time for a Python source."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kinesis_core.reading import DEFAULT_COLUMNS
from kinesis_core.reading.arrow import BatchBuilder
from spark_kinesis_source.schema import default_schema


class ReadySource(DataSource):
    """Options: `tasks`, `batches` per task, `rows` per batch, `bytes` of data per row."""

    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> StructType:
        return default_schema()

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 # Spark's signature
        counts = (int(self.options[name]) for name in ("tasks", "batches", "rows", "bytes"))
        return ReadyReader(*counts)


class ReadyReader(DataSourceReader):
    def __init__(self, tasks: int, batches: int, rows: int, size_bytes: int) -> None:
        self.tasks, self.batches, self.rows, self.size_bytes = tasks, batches, rows, size_bytes

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 # Spark's signature
        batch = make_batch(self.rows, self.size_bytes)
        for _ in range(self.batches):
            yield batch


def make_batch(rows: int, size_bytes: int) -> pa.RecordBatch:
    """Return a batch of random bytes with the columns of our source."""
    payload = os.urandom(size_bytes)
    columns = [
        pa.array([payload] * rows, pa.binary()),
        pa.array(["orders"] * rows, pa.string()),
        pa.array([f"user-{row % 997}" for row in range(rows)], pa.string()),
        pa.array([str(49_660 * 10**51 + row * 2**80) for row in range(rows)], pa.string()),
        pa.array([1_790_000_000_000_000 + row for row in range(rows)], pa.timestamp("us", tz="UTC")),
    ]
    return pa.RecordBatch.from_arrays(
        columns, schema=BatchBuilder([column.name for column in DEFAULT_COLUMNS]).schema
    )
