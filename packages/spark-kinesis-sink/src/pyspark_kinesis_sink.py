"""Lets Spark discover the data source: Spark imports every module whose name begins with pyspark_."""

from spark_kinesis_sink import KinesisSink


class DefaultSource(KinesisSink):
    """`.format("kinesis")`, without registration."""
