"""A local Spark session that logs to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from spark_kinesis_source import register

CONFIG = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_spark(log: Path) -> SparkSession:
    """
    Return a local session that writes its log to *log*. Its workers run this Python interpreter.

    Spark also finds the data source by itself. Registered, it is safe for two queries that start together: of a source that
    Spark has found, the start of the second query changes what the tasks of the first one are written from. Rarely, Spark then
    ends the first one with "Task not serializable".
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[4]").appName("kinesis demo")
    for key, value in {**CONFIG, "spark.sql.warehouse.dir": str(log.parent / "warehouse")}.items():
        builder = builder.config(key, value)
    with _stderr_to(log):  # the JVM inherits this stderr
        spark = builder.getOrCreate()
    register(spark)
    return spark


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
