"""Amazon Kinesis Data Streams as a sink for Spark: `.format("kinesis")`."""

import sys as _sys  # not a name for others

if _sys.version_info < (3, 10):  # noqa: UP036 # otherwise the imports below fail with a SyntaxError
    raise ImportError(
        "spark_kinesis_sink needs Python 3.10 or later, on the driver and on the executors. "
        f"{_sys.executable} is Python {_sys.version.split()[0]}. Set PYSPARK_PYTHON to a later one before the session starts."
    )

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
