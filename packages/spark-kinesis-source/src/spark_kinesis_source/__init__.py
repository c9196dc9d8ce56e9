"""Amazon Kinesis Data Streams as a source for Spark: `.format("kinesis")`."""

from spark_kinesis_source.data_source import AwsKinesisDataSource, KinesisDataSource, register
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.schema import all_columns, default_schema

__all__ = [
    "AwsKinesisDataSource",
    "KinesisDataSource",
    "SourceOptions",
    "all_columns",
    "default_schema",
    "register",
]
