"""Rows that a watermark drops, where shards with unlike rates are far behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as f

from kinesis_emulator import Emulator
from support.streams import StreamUnderTest

pytestmark = [pytest.mark.tests, pytest.mark.all_sparks]

HOUR_S = 3600
BUSY, QUIET = 6000, 60
"""Records of the same hour in two shards."""


@pytest.fixture
def backlog(emulator: Emulator, stream: StreamUnderTest) -> StreamUnderTest:
    """A stream with an hour in two shards, a hundred times as much in the one as in the other."""
    emulator.scale(stream.name, 2)
    began_s = time.time() - 2 * HOUR_S
    for count, hash_key in ((BUSY, 0), (QUIET, 2**128 - 1)):
        for i in range(count):
            emulator.put(stream.name, b"x", "key", hash_key, arrived_s=began_s + i * HOUR_S / count)
    return stream


def count_in_windows(spark: SparkSession, options: dict[str, Any], checkpoint: Path) -> int:
    """Read all records, count them in windows of a minute that are ten minutes late at most, and return how many were counted."""
    counts: dict[Any, int] = {}
    records = spark.readStream.format("kinesis").options(**options).load()
    late = records.withWatermark("approximateArrivalTimestamp", "10 minutes")
    windows = late.groupBy(f.window("approximateArrivalTimestamp", "1 minute")).count()

    def note(frame: DataFrame, _: int) -> None:
        counts.update((row["window"], row["count"]) for row in frame.collect())

    writer = windows.writeStream.outputMode("update").foreachBatch(note)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.processAllAvailable()
        read = sum(progress["numInputRows"] for progress in query.recentProgress)
    finally:
        query.stop()
    assert read == BUSY + QUIET
    return sum(counts.values())


def test_no_row_is_dropped(spark: SparkSession, backlog: StreamUnderTest, tmp_path: Path) -> None:
    """The quiet shard waits for the busy one: every row comes before the watermark has passed it."""
    options = backlog.options(maxRecordsPerShard=1000)
    assert count_in_windows(spark, options, tmp_path) == BUSY + QUIET


def test_without_a_limit_of_skew_rows_are_dropped(
    spark: SparkSession, backlog: StreamUnderTest, tmp_path: Path
) -> None:
    """The first batch has the whole hour of the quiet shard, and Spark drops most of what the busy one brings later."""
    options = backlog.options(maxRecordsPerShard=1000, maxShardSkew="none")
    assert count_in_windows(spark, options, tmp_path) < BUSY / 2
