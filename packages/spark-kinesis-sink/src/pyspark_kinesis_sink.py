"""
Makes the data source known to Spark, which imports every module whose name starts with `pyspark_`.

Spark does this for any Python data source, in a separate process. So this module imports nothing of the package until the
data source is used. It must also be valid in a Python that is too old for the package. An error in one of these modules hides
every data source from Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from spark_kinesis_sink import KinesisSink


class DefaultSource(DataSource):
    """`.format("kinesis")`, without registration. Creating one returns a `KinesisSink`."""

    def __new__(cls, options: dict[str, str]) -> KinesisSink:  # type: ignore[misc] # see the docstring
        # Importing the package takes a quarter of a second of CPU.
        from spark_kinesis_sink import KinesisSink

        return KinesisSink(options)

    @classmethod
    def name(cls) -> str:
        return "kinesis"
