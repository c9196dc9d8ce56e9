"""
Lets Spark discover the data source: Spark imports every module whose name begins with pyspark_.

An error in one of these modules hides every data source from Spark. So with a Python that is too old, this one raises its error
when somebody uses the data source. This file is valid in such a Python.
"""

from __future__ import annotations

import sys
from typing import NoReturn

if sys.version_info >= (3, 10):  # noqa: UP036 # see above
    from spark_kinesis_sink import KinesisSink
else:
    from pyspark.sql.datasource import DataSource

    class KinesisSink(DataSource):
        """Raises the error."""

        @classmethod
        def name(cls) -> str:
            return "kinesis"

        def __init__(self, options: object) -> NoReturn:
            import spark_kinesis_sink  # raises it

            raise AssertionError(options, spark_kinesis_sink)


class DefaultSource(KinesisSink):
    """`.format("kinesis")`, without registration."""
