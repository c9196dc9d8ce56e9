"""Amazon Kinesis Data Streams as a sink for Spark: `.format("kinesis")`."""

from spark_kinesis_sink.columns import ColumnError
from spark_kinesis_sink.data_source import AwsKinesisSink, KinesisSink, register
from spark_kinesis_sink.version import __version__

__all__ = [
    "AwsKinesisSink",
    "ColumnError",
    "KinesisSink",
    "__version__",
    "register",
]
