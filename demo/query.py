"""The Spark side: what a user of the connector writes, and how to keep Spark quiet about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from demo.ledger import WINDOW_S, Ledger

REGION, ACCESS_KEY_ID, SECRET_KEY = "us-east-1", "local", "local"
"""The emulator takes any."""

CONFIG = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_spark(log: Path) -> SparkSession:
    """Return a local session whose Python workers run this very Python, and which writes its log to *log*."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("kinesis demo")
    for key, value in {**CONFIG, "spark.sql.warehouse.dir": str(log.parent / "warehouse")}.items():
        builder = builder.config(key, value)
    with _stderr_to(log):  # the JVM inherits it and keeps it
        return builder.getOrCreate()


def count_cities(spark: SparkSession, endpoint_url: str, stream: str) -> DataFrame:
    """Return the streaming count of records per city and window of event time."""
    records = (
        spark.readStream.format("kinesis")
        .option("streamName", stream)
        .option("region", REGION)
        .option("endpointUrl", endpoint_url)
        .option("awsAccessKeyId", ACCESS_KEY_ID)
        .option("awsSecretKey", SECRET_KEY)
        .option("startingPosition", "TRIM_HORIZON")
        .option("shardDiscoveryInterval", "2s")
        .load()
    )
    sightings = records.select(f.from_json(f.col("data").cast("string"), "city string, at long").alias("s"))
    window = f.window(f.timestamp_millis("s.at"), f"{WINDOW_S} seconds")
    counts = sightings.groupBy(f.col("s.city").alias("city"), window.alias("window")).count()
    return counts.select("city", f.unix_seconds("window.start").alias("start_s"), "count")


def start_query(counts: DataFrame, checkpoint: Path, ledger: Ledger) -> StreamingQuery:
    """Start counting into *ledger*, where *checkpoint* says that it stopped."""

    def note(batch: DataFrame, _: int) -> None:
        ledger.note_counted(((row["city"], row["start_s"]), row["count"]) for row in batch.collect())

    writer = counts.writeStream.outputMode("update").foreachBatch(note)
    return writer.option("checkpointLocation", str(checkpoint)).start()


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
