"""
`.format("kinesis")`: the classes that Spark calls.

Each method imports what it needs. Spark passes a data source to up to five Python processes for one query. They create the
source, plan the read, plan each batch, and run the tasks. Each of them needs another part of the packages, and botocore alone
takes 100 ms of CPU.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from kinesis_core.for_spark import forget_archives, import_other_half, plain_errors, register_with

if TYPE_CHECKING:
    from spark_kinesis_source.options import SourceOptions
    from spark_kinesis_source.reader import StreamReader

HAS_ADMISSION_CONTROL = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether this is Spark 4.2 or later, which passes the start of a batch and its read limit to the source."""


def stream_reader_class() -> type[StreamReader]:
    """Return the reader for this version of Spark."""
    if HAS_ADMISSION_CONTROL:
        from spark_kinesis_source.reader_42 import StreamReader42

        return StreamReader42
    from spark_kinesis_source.reader_40 import StreamReader40

    return StreamReader40


class KinesisDataSource(DataSource):
    """
    Amazon Kinesis Data Streams as a streaming and a batch source.

    Spark also creates one for writing, so options are not checked here but where reading starts: in `schema`, which is
    part of `load()`. If the user sets a schema, Spark does not call `schema`, and the readers check the options.
    """

    @classmethod
    def name(cls) -> str:
        return "kinesis"

    @plain_errors()
    def schema(self) -> StructType:
        from kinesis_core.options import options_of_new_table
        from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
        from spark_kinesis_source.planner_factory import check_streams
        from spark_kinesis_source.schema import default_schema, table_schema

        of_table = options_of_new_table(self.options, SOURCE_OPTIONS)
        check_streams(SourceOptions.parse(self.options if of_table is None else of_table).connection)
        schema = default_schema() if of_table is None else table_schema(of_table)
        forget_archives()
        return schema

    @plain_errors()
    def reader(self, schema: StructType) -> DataSourceReader:
        from spark_kinesis_source.batch_reader import FilteringBatchReader, KinesisBatchReader

        options, columns = self._parse(schema)
        reader = (FilteringBatchReader if options.filter_pushdown else KinesisBatchReader)(options, columns)
        forget_archives()
        return reader

    @plain_errors()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        reader = stream_reader_class()(*self._parse(schema))
        forget_archives()
        return reader

    def _parse(self, schema: StructType) -> tuple[SourceOptions, tuple[str, ...]]:
        """Return the options of a read, together with those of the table if *schema* is that of one, and the columns."""
        from kinesis_core.options import options_of_read
        from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
        from spark_kinesis_source.schema import column_names, table_options

        given = options_of_read(self.options, table_options(schema), SOURCE_OPTIONS)
        return SourceOptions.parse(given), column_names(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return self._sink().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return self._sink().streamWriter(schema, overwrite)

    def _sink(self) -> DataSource:
        """Return the sink: Spark keeps one data source named kinesis, the one that was registered last, which is this one."""
        sink = import_other_half("spark_kinesis_sink", "Writing to Kinesis")
        half: DataSource = sink.KinesisSink(self.options)
        return half


class AwsKinesisDataSource(KinesisDataSource):
    """The same data source under the name of the awslabs connector."""

    @classmethod
    def name(cls) -> str:
        return "aws-kinesis"


def register(spark: SparkSession) -> None:
    """Register `aws-kinesis` with *spark*, and `kinesis` if Spark has not found it."""
    register_with(spark, "spark_kinesis_source", AwsKinesisDataSource, KinesisDataSource)
