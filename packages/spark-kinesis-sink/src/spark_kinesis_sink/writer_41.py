"""The writer of micro-batches for Spark 4.1 and later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter

from spark_kinesis_sink.task import WriteTask, Written
from spark_kinesis_sink.writer import Messages, log_abort, log_commit

if TYPE_CHECKING:
    import pyarrow as pa


class StreamArrowWriter(DataSourceStreamArrowWriter):
    """Writes micro-batches that Spark passes as Arrow record batches."""

    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write_batches(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        log_commit(messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        log_abort(messages, batchId)
