"""The writers that every version of Spark has. What a task does is the same in all writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import asdict
from pyspark.sql import Row
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from kinesis_core.logs import get_logger
from kinesis_core.producing import Totals
from spark_kinesis_sink.task import WriteTask, Written

if TYPE_CHECKING:
    import pyarrow as pa

log = get_logger("spark_kinesis_sink")

Messages = Sequence[WriterCommitMessage | None]
"""One for each task, None for a task that did not end."""


class BatchWriter(DataSourceArrowWriter):
    """Writes a frame once: `df.write`."""

    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write_batches(iterator)

    def commit(self, messages: Messages) -> None:
        log_commit(messages)

    def abort(self, messages: Messages) -> None:
        log_abort(messages)


class StreamRowWriter(DataSourceStreamWriter):
    """Writes micro-batches that come row by row, as they do in Spark 4.0."""

    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def write(self, iterator: Iterator[Row]) -> Written:
        return self._task.write_rows(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        log_commit(messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        log_abort(messages, batchId)


def log_commit(messages: Messages, batch_id: int | None = None) -> None:
    """Log what all tasks of a batch did together."""
    log.info("batch.put", **_facts(messages, batch_id))


def log_abort(messages: Messages, batch_id: int | None = None) -> None:
    """Log what the tasks that ended did; it stays in the stream, for Kinesis takes nothing back."""
    log.warning("batch.aborted", **_facts(messages, batch_id))


def _facts(messages: Messages, batch_id: int | None) -> dict[str, object]:
    written = [message for message in messages if isinstance(message, Written)]
    totals = sum((message.totals for message in written), Totals())
    batch = {} if batch_id is None else {"batch": batch_id}
    return {**batch, "tasks": len(messages), "unfinished": len(messages) - len(written), **asdict(totals)}
