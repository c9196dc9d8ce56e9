"""Conditions that narrow a batch read."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

import pytest
from attrs import define
from pyspark.sql import Column, SparkSession, datasource
from pyspark.sql.functions import col, lit, timestamp_seconds

from kinesis_emulator import Emulator, Request
from spark_kinesis_source import KinesisDataSource, default_schema
from support.streams import StreamUnderTest

pytestmark = [pytest.mark.tests, pytest.mark.all_sparks]
HAS_FILTERS = hasattr(datasource, "EqualTo")
from_spark_41 = pytest.mark.skipif(not HAS_FILTERS, reason="Spark 4.0 passes no conditions to a source")
HOURS = range(20, 0, -1)
TIME = ("approximateArrivalTimestamp",)


@define
class FirstTime:
    """The earliest time from which a read asked for records. It is an emulator's `settings.fault`."""

    seconds: float = float("inf")

    def __call__(self, request: Request) -> None:
        self.seconds = min(self.seconds, request.params.get("Timestamp", float("inf")))


def fill(emulator: Emulator, stream: StreamUnderTest) -> float:
    """Put a record for each of the last hours, and return now."""
    now_s = time.time()
    for hours in HOURS:
        emulator.put(stream.name, str(hours), arrived_s=now_s - hours * 3600)
    return now_s


def read_with(stream: StreamUnderTest, *filters: Any, **options: str) -> list[int]:
    """Return what the tasks of a read with these conditions deliver, before Spark applies them."""
    reader = KinesisDataSource(stream.options(filterPushdown="true", **options)).reader(default_schema())
    assert list(reader.pushFilters([*filters])) == [*filters]
    batches = [batch for each in reader.partitions() for batch in reader.read(each)]
    return [int(data.as_py()) for batch in batches for data in batch.column("data")]  # type: ignore[union-attr] # our own


def arrived_since(seconds: float) -> Column:
    return col("approximateArrivalTimestamp") >= timestamp_seconds(lit(int(seconds)))


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


@from_spark_41
def test_tasks_read_less(emulator: Emulator, stream: StreamUnderTest) -> None:
    """Of the last 20 hours, the tasks read only those within the conditions."""
    now_s = fill(emulator, stream)
    since = datasource.GreaterThanOrEqual(TIME, at(now_s - 3.5 * 3600))
    until = datasource.LessThan(TIME, at(now_s - 1.5 * 3600))
    assert read_with(stream) == [*HOURS]
    assert read_with(stream, since) == [3, 2, 1]
    assert read_with(stream, since, until) == [3, 2]
    assert read_with(stream, until, startingPosition="5.5h ago", endingPosition="4.5h ago") == [5]
    assert read_with(stream, since, endingPosition="8h ago") == []
    assert read_with(stream, datasource.GreaterThan(TIME, at(now_s + 9999))) == []
    contradiction = [datasource.EqualTo(("shardId",), shard) for shard in "ab"]
    assert read_with(stream, *contradiction) == []
    assert read_with(stream, datasource.In(("streamName",), (stream.name, "other"))) == [*HOURS]
    assert read_with(stream, datasource.EqualTo(("streamName",), "other")) == []


@from_spark_41
def test_a_driver_whose_clock_is_ahead() -> None:
    """A condition on a time in the service's future is no position, which would be an error: it is met by what is there, or by nothing."""
    ahead_s = 3600
    with Emulator(clock=lambda: time.time() - ahead_s) as behind:
        stream = StreamUnderTest(behind.endpoint_url, "orders", 1)
        now_s = fill(behind, stream) - ahead_s
        assert read_with(stream, datasource.GreaterThan(TIME, at(now_s + 1800))) == [1]  # it has just arrived
        assert read_with(stream, datasource.LessThan(TIME, at(now_s + 1800))) == [*HOURS]


def test_spark_passes_conditions_on(spark: SparkSession, emulator: Emulator, stream: StreamUnderTest) -> None:
    """The rows are the same with and without the option. With it, from Spark 4.1 on, the read begins a minute before the condition."""
    now_s = fill(emulator, stream)
    since_s = int(now_s - 3.5 * 3600)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        for pushdown in ("false", "true"):
            emulator.settings.fault = first = FirstTime()
            options = stream.options(filterPushdown=pushdown)
            frame = spark.read.format("kinesis").options(**options).load().where(arrived_since(since_s))
            assert [int(row.data) for row in frame.collect()] == [3, 2, 1]
            is_narrowed = HAS_FILTERS and pushdown == "true"
            assert (first.seconds == since_s - 60) == is_narrowed
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_without_the_option_a_frame_stays_whole(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest
) -> None:
    """Spark keeps conditions that a source takes for later queries over the same frame. By default, the source takes none."""
    now_s = fill(emulator, stream)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = spark.read.format("kinesis").options(**stream.options()).load()
        since = arrived_since(now_s - 3.5 * 3600)
        assert (frame.where(since).count(), frame.count()) == (3, len(HOURS))
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@from_spark_41
def test_spark_names_its_setting(spark: SparkSession, stream: StreamUnderTest) -> None:
    """A read with the option fails while Spark's push-down is off, and the error names the setting."""
    frame = spark.read.format("kinesis").options(**stream.options(filterPushdown="true")).load()
    with pytest.raises(Exception, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
        frame.collect()
