"""The writer of micro-batches for Spark 4.1 and later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter

from spark_kinesis_sink.task import Written
from spark_kinesis_sink.writer import Writer

if TYPE_CHECKING:
    import pyarrow as pa


class StreamArrowWriter(Writer, DataSourceStreamArrowWriter):
    """Writes micro-batches that Spark passes as Arrow record batches."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write_batches(iterator)
