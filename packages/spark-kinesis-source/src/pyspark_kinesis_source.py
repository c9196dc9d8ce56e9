"""Lets Spark find the data source by itself: it looks into every module whose name begins with pyspark_."""

from spark_kinesis_source import KinesisDataSource


class DefaultSource(KinesisDataSource):
    """`.format("kinesis")`, without registration."""
