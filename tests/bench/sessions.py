"""Sessions of Spark for benchmarks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from tests.support.spark_harness import start_session

PRODUCTION = {"spark.driver.extraJavaOptions": "", "spark.sql.codegen.wholeStage": "true"}
"""Undoes the settings that make sessions start fast in tests."""


@contextmanager
def spark_session(
    *sources: type[DataSource], master: str = "local[2,2]", config: Mapping[str, str] = PRODUCTION
) -> Iterator[tuple[SparkSession, Path]]:
    """Yield a session that knows *sources*, and a folder for it."""
    with tempfile.TemporaryDirectory() as name:
        spark = start_session(Path(name), master, config)
        try:
            for source in sources:
                spark.dataSource.register(source)
            yield spark, Path(name)
        finally:
            spark.stop()
