"""`.format("kinesis")` for writing: the classes that Spark calls."""

from __future__ import annotations

from collections.abc import Callable

import pyspark.sql.datasource
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from kinesis_core.errors import OptionError
from kinesis_core.for_spark import forget_archives, import_other_half, plain_errors, register_with
from kinesis_core.options import check_named_stream
from spark_kinesis_sink.columns import find_columns
from spark_kinesis_sink.options import SINK_OPTIONS, SinkOptions
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

    Spark asks for a writer when a batch begins, before its tasks. Options, columns and the stream are checked then.
    """

    @classmethod
    def name(cls) -> str:
        return "kinesis"

    @plain_errors()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise OptionError(
                'A stream cannot be overwritten: Kinesis keeps records until their retention ends. Use .mode("append").'
            )
        return BatchWriter(self._task(schema))

    @plain_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002
        # Spark passes overwrite for the output mode complete: every batch then writes all rows again.
        return stream_writer_class()(self._task(schema))

    def _task(self, schema: StructType) -> WriteTask:
        check_named_stream(
            self.options, ((field.name, field.metadata) for field in schema.fields), SINK_OPTIONS
        )
        options = SinkOptions.parse(self.options)
        columns = find_columns(schema, routes_rows=options.stream is None)
        check_stream(options)
        forget_archives()
        return WriteTask(options, columns)

    def schema(self) -> StructType | str:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return self._source().streamReader(schema)

    def _source(self) -> DataSource:
        """Return the source: Spark has one data source named kinesis, and the sink was registered last."""
        source = import_other_half("spark_kinesis_source", "Reading from Kinesis")
        half: DataSource = source.KinesisDataSource(self.options)
        return half


class AwsKinesisSink(KinesisSink):
    """The sink under the name of the awslabs connector."""

    @classmethod
    def name(cls) -> str:
        return "aws-kinesis"


def register(spark: SparkSession) -> None:
    """Register `aws-kinesis` with *spark*, and `kinesis` if Spark has not found it."""
    register_with(spark, "spark_kinesis_sink", AwsKinesisSink, KinesisSink)
