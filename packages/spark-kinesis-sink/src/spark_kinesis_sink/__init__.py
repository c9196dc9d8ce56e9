"""Amazon Kinesis Data Streams as a sink for Spark."""

from spark_kinesis_sink.data_source import KinesisSink

__all__ = ["KinesisSink"]
