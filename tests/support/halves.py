"""Source and sink without a Spark session: the calls that Spark makes on the driver, and those of a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from spark_kinesis_sink import KinesisSink
from spark_kinesis_source import KinesisDataSource
from spark_kinesis_source.batch_reader import KinesisBatchReader
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from spark_kinesis_source.reader import StreamReader
from spark_kinesis_source.schema import default_schema

DATA = StructType([StructField("data", StringType())])
Options = Mapping[str, Any]


@contextmanager
def streaming(options: Options) -> Iterator[StreamReader]:
    """Yield the reader of a streaming query."""
    reader = KinesisDataSource(dict(options)).streamReader(default_schema())
    assert isinstance(reader, StreamReader)
    try:
        yield reader
    finally:
        reader.stop()


def plan(reader: StreamReader, start: Any = None) -> tuple[list[InputPartition], Any]:
    """Plan the next batch as Spark does. Return its partitions and its end."""
    planner: Any = reader  # latestOffset has arguments since Spark 4.2
    started = reader.initialOffset() if start is None else start
    end = planner.latestOffset(*([started, planner.getDefaultReadLimit()] if HAS_ADMISSION_CONTROL else []))
    return ([] if end == started else reader.partitions(started, end)), end


def batch_reader(options: Options) -> KinesisBatchReader:
    reader = KinesisDataSource(dict(options)).reader(default_schema())
    assert isinstance(reader, KinesisBatchReader)
    return reader


def payloads(reader: StreamReader | KinesisBatchReader, partitions: Iterable[Any]) -> list[bytes]:
    """Return the payloads that a task reads from each of *partitions*."""
    return [
        data
        for partition in partitions
        for page in reader.read(partition)
        for data in page.column("data").to_pylist()
    ]


def open_writer(options: Options) -> Any:
    """Return the writer of a batch, which the driver creates and tasks use."""
    return KinesisSink(dict(options)).writer(DATA, overwrite=False)


def write(options: Options, rows: Sequence[str]) -> None:
    """Write *rows* in one task."""
    import pyarrow as pa

    columns = pa.record_batch({"data": pa.array(rows, pa.string())})
    open_writer(options).write(iter([columns]))
