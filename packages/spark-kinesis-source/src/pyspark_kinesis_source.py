"""Makes the data source known to Spark, which imports every module whose name starts with `pyspark_`."""

from spark_kinesis_source import KinesisDataSource


class DefaultSource(KinesisDataSource):
    """`.format("kinesis")`, without registration."""
