"""A local Spark session that logs to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

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
    """Return a local session that writes its log to *log*. Its workers run this Python interpreter."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[4]").appName("kinesis demo")
    for key, value in {**CONFIG, "spark.sql.warehouse.dir": str(log.parent / "warehouse")}.items():
        builder = builder.config(key, value)
    with _stderr_to(log):  # the JVM inherits this stderr
        return builder.getOrCreate()


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
