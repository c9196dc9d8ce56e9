"""A source of one row, batch and streaming, that needs no library: the lower bound of a query's fixed cost. For Spark 4.2 or later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

Offset = dict[str, int]


class OneRowSource(DataSource):
    """It takes any option."""

    @classmethod
    def name(cls) -> str:
        return "one-row"

    def schema(self) -> str:
        return "data binary"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 # Spark's signature
        return OneRowReader()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002 # likewise
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

        class AvailableNow(OneRowStreamReader, SupportsTriggerAvailableNow):
            def prepareForTriggerAvailableNow(self) -> None:
                pass

        return AvailableNow()


class OneRowReader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 # likewise
        return _row()


class OneRowStreamReader(DataSourceStreamReader):
    def initialOffset(self) -> Offset:
        return {"rows": 0}

    def latestOffset(self, start: Offset, limit: object) -> Offset:  # noqa: ARG002 # likewise
        return {"rows": 1}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [InputPartition(0)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 # likewise
        return _row()


def _row() -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    # pyarrow.array would import pandas.
    column = pa.Array.from_buffers(
        pa.binary(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"x")]
    )
    yield pa.RecordBatch.from_arrays([column], names=["data"])
