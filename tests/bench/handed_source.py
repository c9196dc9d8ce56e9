"""A source that reads lines from a file to which a test appends: the lower bound of latency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType


class HandedSource(DataSource):
    """Option `file`: each line is a record."""

    @classmethod
    def name(cls) -> str:
        return "handed"

    def schema(self) -> str:
        return "data binary"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002 # Spark's signature
        return HandedReader(Path(self.options["file"]))


class HandedReader(DataSourceStreamReader):
    def __init__(self, file: Path) -> None:
        self._file = file

    def initialOffset(self) -> dict[str, int]:
        return {"bytes": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:  # noqa: ARG002 # Spark's signature
        return {"bytes": self._file.stat().st_size}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition((start["bytes"], end["bytes"]))] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        start, end = partition.value
        lines = self._file.read_bytes()[start:end].splitlines()
        yield pa.RecordBatch.from_arrays([pa.array(lines, pa.binary())], names=["data"])
