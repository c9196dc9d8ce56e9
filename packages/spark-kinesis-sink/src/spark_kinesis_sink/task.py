"""The code of Spark's write tasks: a task writes the rows of one partition, and ends when all are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyspark.sql.datasource import WriterCommitMessage

from kinesis_core.aws import StreamRef
from kinesis_core.errors import InvalidRecordError, PutError
from kinesis_core.for_spark import forget_archives, freeze_heap, plain_errors
from kinesis_core.producing import Totals
from kinesis_core.threads import share_arenas
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.rows import ArrowBlock, Block, arrow_blocks, blocks_of_rows
from spark_kinesis_sink.task_producers import TaskProducers

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class Written(WriterCommitMessage):
    """The message of a task to the driver, after all its rows are written."""

    totals: Totals


@frozen
class WriteTask:
    """Writes partitions. It is pickled with every task, so it holds only options and the indexes of columns."""

    options: SinkOptions
    columns: Columns

    def write_batches(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Write Arrow record batches."""
        return self._write(arrow_blocks(batches, self.columns))

    def write_rows(self, rows: Iterable[Sequence[Any]]) -> Written:
        """Write rows."""
        return self._write(blocks_of_rows(rows, self.columns))

    def _write(self, blocks: Iterable[Block | ArrowBlock]) -> Written:
        share_arenas()
        if self.options.freeze_worker_heap:
            freeze_heap()
        with plain_errors(), TaskProducers(self.options) as producers:
            rows = put_blocks(blocks, producers, self.options.stream)
            totals = producers.flush()
            check_written(rows, totals)
        forget_archives()
        return Written(totals)


def check_written(rows: int, totals: Totals) -> None:
    """
    Check that every row is written, so that an internal error loses no row.

    Raises:
        PutError: The totals of the producers count another number of rows.
    """
    if totals.user_records != rows:
        raise PutError(
            f"The task put {rows} rows, but {totals.user_records} are confirmed as written. This is an internal error. "
            "The task fails and Spark writes its rows again. Please report this with the log.",
            {"Unaccounted": rows - totals.user_records},
        )


def put_blocks(
    blocks: Iterable[Block | ArrowBlock], producers: TaskProducers, stream: StreamRef | None
) -> int:
    """
    Put all rows of *blocks* to *stream*, or to the stream that each row names if it is None. Returns their number.

    Raises:
        InvalidRecordError: Kinesis would refuse a row. The error has its index in the task.
        PutError: Earlier rows could not be written.
    """
    rows = 0
    for block in blocks:
        rows += len(block)
        if stream is not None:
            _put(block, producers, stream)
            continue
        for name, part in _listed(block).by_stream():
            _put(part, producers, StreamRef(name))
    return rows


def _listed(block: Block | ArrowBlock) -> Block:
    return block.listed() if isinstance(block, ArrowBlock) else block


def _put(given: Block | ArrowBlock, producers: TaskProducers, stream: StreamRef) -> None:
    if isinstance(given, ArrowBlock) and producers.get(stream).put_arrays(
        given.data, given.partition_keys, given.explicit_hash_keys
    ):
        return
    block = _listed(given)
    producer = producers.get(stream)
    try:
        producer.put_columns(block.data, block.partition_keys, block.explicit_hash_keys)
    except InvalidRecordError as error:
        row = block.row(error.row)
        raise InvalidRecordError(
            f"{error.what} It is row {row} of the task, counted from 0.", row, stream=stream.label
        ) from None
