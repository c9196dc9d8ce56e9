"""The smallest batch source in Python: one row per partition. It is the lower bound of a task's cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType


class EmptySource(DataSource):
    """Option `tasks`: the number of partitions."""

    @classmethod
    def name(cls) -> str:
        return "empty"

    def schema(self) -> str:
        return "number long"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's signature
        return EmptyReader(int(self.options["tasks"]))


class EmptyReader(DataSourceReader):
    def __init__(self, tasks: int) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"number": pa.array([partition.value], pa.int64())})
