"""Calls that fail while Spark writes: every row is in the stream, and every copy is explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from spark.sinks import Feed, SinkQuery, sink_options, write
from spark.written import user_records
from support.mishaps import Mishaps
from support.streams import StreamUnderTest

MakeStream = Callable[..., StreamUnderTest]
BATCHES, ROWS = 4, 1500


@pytest.mark.all_sparks
@pytest.mark.parametrize("aggregated", ["true", "false"])
def test_every_row_is_there_and_every_copy_is_explained(
    spark: SparkSession, emulator: Emulator, make_stream: MakeStream, tmp_path: Path, aggregated: str
) -> None:
    """
    Through partial failures, throttles, 500s, resets and lost responses, every row of every micro-batch is in the
    stream. The additional copies are exactly the rows written under a lost response.
    """
    stream = make_stream(shards=3)
    mishaps = Mishaps(seed=1)
    emulator.settings.fault = mishaps
    feed = Feed(spark, tmp_path / "feed", "data string, partitionKey string")
    options = sink_options(stream, aggregationEnabled=aggregated, aggregationMaxSize="1000")
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", options).start()
    for batch in range(BATCHES):
        numbers = range(batch * ROWS, (batch + 1) * ROWS)
        feed.add((str(number), f"key-{number % 71}") for number in numbers)
        query.process_all()
    query.stop()
    found = Counter(int(record.data) for record in user_records(emulator, stream.name))
    assert set(found) == set(range(BATCHES * ROWS))
    assert sum(found.values()) - BATCHES * ROWS == mishaps.lost
    assert mishaps.lost


def test_only_what_was_refused_is_written_again(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest
) -> None:
    """Only rows that a shard refuses because of its rate are sent again: each row is written once."""
    emulator.settings.limits = type(emulator.settings.limits)(describe_stream_summary_per_s=None)
    frame = spark.range(3000).selectExpr("cast(id as string) data")
    write(frame, sink_options(stream, aggregationEnabled="false"))
    assert sorted(int(record.data) for record in emulator.records(stream.name)) == list(range(3000))


def test_tasks_share_a_busy_shard(spark: SparkSession, emulator: Emulator, make_stream: MakeStream) -> None:
    """
    Two tasks have more rows for one shard than it accepts within recordTtlMs. Neither fails, and each row is written once.
    """
    stream = make_stream(shards=1)
    emulator.settings.limits = type(emulator.settings.limits)(
        describe_stream_summary_per_s=None, write_bytes_per_s=200_000
    )
    frame = spark.range(2000, numPartitions=2).selectExpr("concat(id, repeat('x', 995)) data")
    write(frame, sink_options(stream, recordTtlMs="1000", aggregationMaxSize="20000"))
    rows = Counter(int(record.data.rstrip(b"x")) for record in user_records(emulator, stream.name))
    assert rows == Counter(range(2000))
