"""
Makes the data source known to Spark, which imports every module whose name starts with `pyspark_`.

An error in one of these modules hides every data source from Spark. So with a Python that is too old, this one raises its error
when somebody uses the data source. This file is valid in such a Python.
"""

from __future__ import annotations

import sys
from typing import NoReturn

if sys.version_info >= (3, 10):  # noqa: UP036 # see above
    from spark_kinesis_source import KinesisDataSource
else:
    from pyspark.sql.datasource import DataSource

    class KinesisDataSource(DataSource):
        """Raises the error."""

        @classmethod
        def name(cls) -> str:
            return "kinesis"

        def __init__(self, options: object) -> NoReturn:
            import spark_kinesis_source  # raises it

            raise AssertionError(options, spark_kinesis_source)


class DefaultSource(KinesisDataSource):
    """`.format("kinesis")`, without registration."""
