"""Amazon Kinesis Data Streams as a source for Spark: `.format("kinesis")`."""

import sys as _sys  # not a name for others

if _sys.version_info < (3, 10):  # noqa: UP036 # otherwise the imports below fail with a SyntaxError
    raise ImportError(
        "spark_kinesis_source needs Python 3.10 or later, on the driver and on the executors. "
        f"{_sys.executable} is Python {_sys.version.split()[0]}. Set PYSPARK_PYTHON to a later one before the session starts."
    )

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from spark_kinesis_source.data_source import (
        AwsKinesisDataSource as AwsKinesisDataSource,
        KinesisDataSource as KinesisDataSource,
        register as register,
    )
    from spark_kinesis_source.schema import all_columns as all_columns, default_schema as default_schema
    from spark_kinesis_source.version import __version__ as __version__

lazy_names(
    __name__,
    {
        "spark_kinesis_source.data_source": "AwsKinesisDataSource KinesisDataSource register",
        "spark_kinesis_source.schema": "all_columns default_schema",
        "spark_kinesis_source.version": "__version__",
    },
)
