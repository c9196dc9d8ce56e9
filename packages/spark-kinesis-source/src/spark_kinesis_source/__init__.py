"""Amazon Kinesis Data Streams as a source for Spark: `.format("kinesis")`."""

from spark_kinesis_source.data_source import AwsKinesisDataSource, KinesisDataSource, register
from spark_kinesis_source.schema import all_columns, default_schema
from spark_kinesis_source.version import __version__

__all__ = [
    "AwsKinesisDataSource",
    "KinesisDataSource",
    "__version__",
    "all_columns",
    "default_schema",
    "register",
]
