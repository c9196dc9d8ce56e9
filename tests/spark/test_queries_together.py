"""
Queries that start together: Spark writes the tasks of one from what the start of the other changes.

The environment of a source's workers is a map that all queries share. Each start puts the same names into it. For a source that
Spark has found by itself it is a map of Scala, and the second start moves its entries into a larger table. A task that is written
meanwhile fails: "Task not serializable".
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_kinesis_source import register
from support.python_starts import PatientQuery
from support.streams import StreamUnderTest


def _environment(spark: SparkSession) -> Any:
    """Return what Spark puts into the environment of the workers of our data source."""
    session: Any = spark._jsparkSession
    return session.sessionState().dataSourceManager().lookupDataSource("kinesis").dataSourceCls().envVars()


def test_a_registered_source(spark: SparkSession, stream: StreamUnderTest) -> None:
    """After register(spark), it is a map of Java. That one moves nothing when a name that it has is put again."""
    register(spark)
    for _ in range(2):
        frame = spark.readStream.format("kinesis").options(**stream.options()).load()
        writer = frame.writeStream.format("noop").trigger(availableNow=True)
        PatientQuery(writer.start).do(StreamingQuery.awaitTermination)
    environment = _environment(spark)
    assert environment.getClass().getName() == "java.util.HashMap"
    assert "SPARK_PYTHON_RUNTIME" in dict(environment)
