"""The writers for every version of Spark. All writers run the same task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import asdict
from pyspark.sql import Row
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from kinesis_core.producing import Totals
from kinesis_credentials.logs import get_logger
from spark_kinesis_sink.task import WriteTask, Written

if TYPE_CHECKING:
    import pyarrow as pa

log = get_logger("spark_kinesis_sink")

Messages = Sequence[WriterCommitMessage | None]
"""One message for each task, or None for a task that did not end."""


class Writer:
    """What the writers of all versions share: the task, and what the driver logs about a batch."""

    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def commit(self, messages: Messages, batchId: int | None = None) -> None:  # noqa: N803 - Spark's name
        """Log the totals of all tasks of a batch."""
        log.info("batch.put", **_facts(messages, batchId))

    def abort(self, messages: Messages, batchId: int | None = None) -> None:  # noqa: N803 - Spark's name
        """Log the totals of the tasks that ended. Their rows stay in the stream, because Kinesis cannot delete records."""
        log.warning("batch.aborted", **_facts(messages, batchId))


class BatchWriter(Writer, DataSourceArrowWriter):
    """Writes a frame once: `df.write`."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write_batches(iterator)


class StreamRowWriter(Writer, DataSourceStreamWriter):
    """Writes micro-batches that Spark passes as rows, as Spark 4.0 does."""

    def write(self, iterator: Iterator[Row]) -> Written:
        return self._task.write_rows(iterator)


def _facts(messages: Messages, batch_id: int | None) -> dict[str, object]:
    written = [message for message in messages if isinstance(message, Written)]
    totals = sum((message.totals for message in written), Totals())
    batch = {} if batch_id is None else {"batch": batch_id}
    return {**batch, "tasks": len(messages), "unfinished": len(messages) - len(written), **asdict(totals)}
