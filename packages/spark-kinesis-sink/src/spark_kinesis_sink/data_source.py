"""`.format("kinesis")` for writing: where Spark comes in."""

from __future__ import annotations

from collections.abc import Callable

import pyspark.sql.datasource
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
)
from pyspark.sql.types import StructType

from kinesis_core.errors import OptionError
from kinesis_core.for_spark import import_other_half, plain_errors
from spark_kinesis_sink.columns import find_columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.preflight import check_stream
from spark_kinesis_sink.task import WriteTask
from spark_kinesis_sink.writer import BatchWriter, StreamRowWriter

StreamWriterClass = Callable[[WriteTask], DataSourceStreamWriter]


def stream_writer_class() -> StreamWriterClass:
    """Return the writer of micro-batches for this version of Spark."""
    if not hasattr(pyspark.sql.datasource, "DataSourceStreamArrowWriter"):  # Spark 4.0
        return StreamRowWriter
    from spark_kinesis_sink.writer_41 import StreamArrowWriter

    return StreamArrowWriter


class KinesisSink(DataSource):
    """
    Amazon Kinesis Data Streams as a sink for streaming and batch.

    Spark asks for a writer when a batch begins, and before any of its tasks: there options, columns and stream are
    checked.
    """

    @classmethod
    def name(cls) -> str:
        return "kinesis"

    @plain_errors()
    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        if overwrite:
            raise OptionError(
                'A stream cannot be overwritten: Kinesis keeps its records until their time is over. Use .mode("append").'
            )
        return BatchWriter(self._task(schema))

    @plain_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002
        # Spark says overwrite for the output mode complete; here rows are events, and all of them are written again.
        return stream_writer_class()(self._task(schema))

    def _task(self, schema: StructType) -> WriteTask:
        options = SinkOptions.parse(self.options)
        columns = find_columns(schema, routes_rows=options.stream is None)
        check_stream(options)
        return WriteTask(options, columns)

    def schema(self) -> StructType | str:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return self._source().streamReader(schema)

    def _source(self) -> DataSource:
        """Return the half that reads: Spark knows only one data source called kinesis, and met this one last."""
        source = import_other_half("spark_kinesis_source", "Reading from Kinesis")
        half: DataSource = source.KinesisDataSource(self.options)
        return half


class AwsKinesisSink(KinesisSink):
    """The same under the name that the awslabs connector has."""

    @classmethod
    def name(cls) -> str:
        return "aws-kinesis"


def register(spark: SparkSession) -> None:
    """Let *spark* know `aws-kinesis` beside `kinesis`, and `kinesis` where it does not look for data sources."""
    spark.dataSource.register(AwsKinesisSink)
    try:
        spark.dataSource.register(KinesisSink)
    except AnalysisException as error:
        # Spark 4.0 has found it by itself, and lets nobody register that name again.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
