"""
Two queries over one stream: into Parquet files by Spark's file sink, and into a second stream by our sink.

    python -m tools.chaos.job MASTER_URL ENDPOINT_URL FOLDER

It creates the file `started` when both have started. While the file `runs` exists, both read what is there with AvailableNow, in one
run after the other. While the file `hold` exists, no run begins: the file `resting` shows that the last one has ended. When the file
`drain` exists, a last run processes the rest of the stream.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from support.streams import KEY_ID, REGION, SECRET

SOURCE, COPY = "orders", "copies"
FILES, TO_FILES, TO_STREAM = "files", "to-files", "to-stream"
"""The folders of the Parquet files and of the checkpoints."""
STARTED, DRAIN = "started", "drain"
RUNS, HOLD, RESTING = "runs", "hold", "resting"
QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
CONFIG = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executor.memory": "512m",
    "spark.scheduler.mode": "FAIR",  # each query has its own pool, so that neither waits for the other
    # Executors and workers die more often here than in production.
    "spark.task.maxFailures": "100",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.task.duration.threshold": "1s",
    # One file of the log per batch, so that the log shows the batch of each file.
    "spark.sql.streaming.fileSink.log.compactInterval": "1000000",
    # Processes live for a short time, so quick starts matter more than quick loops.
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

Trigger = Mapping[str, Any]
FOLLOW: Trigger = {"processingTime": "0 seconds"}
AVAILABLE_NOW: Trigger = {"availableNow": True}
Begin = Callable[[Trigger], list[StreamingQuery]]
"""Starts both queries with a trigger."""


def main(master: str, endpoint_url: str, folder: Path) -> None:
    builder = SparkSession.builder.master(master).appName("chaos")
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    common = {
        "endpointUrl": endpoint_url,
        "region": REGION,
        "awsAccessKeyId": KEY_ID,
        "awsSecretKey": SECRET,
        "retryInterval": "200 ms",
        "maxRetries": "10",
    }
    begin = partial(_begin, spark, common, folder)
    while not (folder / DRAIN).exists():
        if (folder / RUNS).exists():
            _rest(folder)
            _run(begin)
        else:
            _follow(begin, folder)
    _run(begin)
    spark.stop()


def _begin(
    spark: SparkSession, common: dict[str, str], folder: Path, trigger: Trigger
) -> list[StreamingQuery]:
    queries = [
        _to_files(spark, common, folder).trigger(**trigger).start(),
        _to_stream(spark, common, folder).trigger(**trigger).start(),
    ]
    (folder / STARTED).touch()
    return queries


def _follow(begin: Begin, folder: Path) -> None:
    """Follow the stream until runs or the end are wanted."""
    queries = begin(FOLLOW)
    while not any((folder / name).exists() for name in (RUNS, DRAIN)):
        for query in queries:
            query.awaitTermination(0.1)  # type: ignore[arg-type] # raises the query's error, if it has failed
    for query in queries:
        query.stop()


def _run(begin: Begin) -> None:
    """Read what is in the stream now."""
    for query in begin(AVAILABLE_NOW):
        query.awaitTermination()


def _rest(folder: Path) -> None:
    """Wait while no run may begin."""
    while (folder / HOLD).exists():
        (folder / RESTING).touch()
        time.sleep(0.1)
    (folder / RESTING).unlink(missing_ok=True)


def _to_files(spark: SparkSession, common: dict[str, str], folder: Path) -> DataStreamWriter:
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", TO_FILES)
    columns = "data binary, partitionKey string, sequenceNumber string, shardId string"
    reader = spark.readStream.format("kinesis").schema(columns).options(**common, **_reading())
    writer = reader.load().writeStream.format("parquet").option("path", str(folder / FILES))
    return writer.option("checkpointLocation", str(folder / TO_FILES))


def _to_stream(spark: SparkSession, common: dict[str, str], folder: Path) -> DataStreamWriter:
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", TO_STREAM)
    reader = spark.readStream.format("kinesis").options(**common, **_reading())
    writer = reader.load().writeStream.format("kinesis").options(**common, streamName=COPY)
    # A batch must not fail because the machine is slow.
    writer = writer.option("recordTtlMs", "10 m")
    return writer.option("checkpointLocation", str(folder / TO_STREAM))


def _reading() -> dict[str, str]:
    return {
        "streamName": SOURCE,
        "startingPosition": "TRIM_HORIZON",
        "shardsPerTask": "3",
        "minFetchPeriod": "20 ms",
        "shardDiscoveryInterval": "200 ms",
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
