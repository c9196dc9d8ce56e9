"""df.writeStream: consecutive micro-batches into a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import (
    DataFrame,
    SparkSession,
    functions as F,  # noqa: N812 - as Spark's users write it
)

from kinesis_emulator import Emulator
from spark.sinks import PATIENCE, Feed, SinkQuery, write
from spark.written import user_records
from support.checks import CarriedOut
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeStream = Callable[..., StreamUnderTest]
MakeSink = Callable[..., SinkQuery]
KEYED = "data string, partitionKey string"


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path / "feed", KEYED)


@pytest.fixture
def make_sink(tmp_path: Path) -> Iterator[MakeSink]:
    made: list[SinkQuery] = []

    def make(frame: DataFrame, stream: StreamUnderTest, mode: str = "append", **more: Any) -> SinkQuery:
        options = {**stream.options(), "recordTtlMs": PATIENCE, **more}
        made.append(SinkQuery(frame, tmp_path / "sink-checkpoint", options, mode))
        return made[-1]

    yield make
    for query in made:
        query.stop()


def numbered(first: int, count: int) -> list[tuple[str, str]]:
    return [(str(number), f"key-{number % 7}") for number in range(first, first + count)]


def data_of(emulator: Emulator, stream: StreamUnderTest) -> Counter[str]:
    return Counter(record.data.decode() for record in user_records(emulator, stream.name))


@pytest.mark.tests
@pytest.mark.all_sparks
def test_append_across_a_restart(
    emulator: Emulator, make_stream: MakeStream, feed: Feed, make_sink: MakeSink
) -> None:
    """Every row of every micro-batch is written once, before and after a restart."""
    stream = make_stream(shards=2)
    query = make_sink(feed.frame(), stream).start()
    for batch in range(3):
        feed.add(numbered(batch * 100, 100))
        query.process_all()
    query.stop()
    feed.add(numbered(300, 100))
    query.start().process_all()
    assert data_of(emulator, stream) == Counter({str(number): 1 for number in range(400)})


@pytest.mark.tests
@pytest.mark.all_sparks
def test_stream_to_stream(
    spark: SparkSession, make_stream: MakeStream, make_sink: MakeSink, make_query: Callable[..., Query]
) -> None:
    """Rows of a source are written unchanged, with the same options, and a second query reads the same records."""
    first, second = make_stream("first", shards=2), make_stream("second", shards=3)
    first.put_numbers(500)
    source = spark.readStream.format("kinesis").options(**first.options()).load()
    query = make_sink(source, second).start().process_all()
    first.split()
    first.put_numbers(500)
    query.process_all()
    seen = make_query(second.options()).start().wait_for_rows(1000)
    found = [(bytes(row.data), row.partitionKey) for row in seen.rows]
    assert sorted(found) == sorted((put.data, put.partition_key) for put in first.sent)


def test_order_per_key(emulator: Emulator, make_stream: MakeStream, feed: Feed, make_sink: MakeSink) -> None:
    """Rows of one partition key are stored in the order of the micro-batches."""
    stream = make_stream(shards=2)
    query = make_sink(feed.frame(), stream).start()
    for batch in range(4):
        feed.add(numbered(batch * 50, 50))
        query.process_all()
    for key in {f"key-{number}" for number in range(7)}:
        found = [int(r.data) for r in user_records(emulator, stream.name) if r.partition_key == key]
        batches = [number // 50 for number in found]
        assert batches == sorted(batches)


@pytest.mark.all_sparks
def test_complete(emulator: Emulator, stream: StreamUnderTest, feed: Feed, make_sink: MakeSink) -> None:
    """In output mode complete, each micro-batch writes the whole result again."""
    counted = feed.frame().groupBy("partitionKey").count()
    frame = counted.select(F.concat_ws("=", "partitionKey", "count").alias("data"))
    query = make_sink(frame, stream, mode="complete").start()
    feed.add([("x", "a"), ("x", "b")])
    query.process_all()
    feed.add([("x", "a")])
    query.process_all()
    assert data_of(emulator, stream) == Counter({"a=1": 1, "b=1": 2, "a=2": 1})


@pytest.mark.all_sparks
def test_update(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, feed: Feed, tmp_path: Path
) -> None:
    """Spark has no output mode update for Python sinks, so foreachBatch writes what changed."""
    del spark
    counted = feed.frame().groupBy("partitionKey").count()
    frame = counted.select(F.concat_ws("=", "partitionKey", "count").alias("data"))

    def write_batch(changed: DataFrame, _batch_id: int) -> None:
        write(changed, stream.options())

    writer = frame.writeStream.outputMode("update").foreachBatch(write_batch)
    query = writer.option("checkpointLocation", str(tmp_path / "update")).start()
    try:
        feed.add([("x", "a"), ("x", "b")])
        query.processAllAvailable()
        feed.add([("x", "a")])
        query.processAllAvailable()
    finally:
        query.stop()
    assert data_of(emulator, stream) == Counter({"a=1": 1, "b=1": 1, "a=2": 1})


def test_reshard_between_batches(
    emulator: Emulator, make_stream: MakeStream, feed: Feed, make_sink: MakeSink
) -> None:
    """After a split, rows that went to the wrong child are sent again, so that each is in a shard that owns its key."""
    stream = make_stream(shards=1)
    query = make_sink(feed.frame(), stream).start()
    feed.add(numbered(0, 200))
    query.process_all()
    stream.split()
    feed.add(numbered(200, 200))
    query.process_all()
    low, high = emulator.shard_ids(stream.name)
    found = user_records(emulator, stream.name)
    assert {int(record.data) for record in found} == set(range(400))
    owned = {
        int(record.data) for record in found if record.shard_id == (high if record.hash_key >> 127 else low)
    }
    assert owned == set(range(200, 400))


@pytest.mark.all_sparks
def test_producers_are_kept(
    emulator: Emulator, make_stream: MakeStream, feed: Feed, make_sink: MakeSink
) -> None:
    """
    Workers keep their producers: each worker, not each task, describes the stream once. The shards are listed before
    the first aggregate of a task, because a worker may outlive its stream.
    """
    stream = make_stream(shards=2)
    emulator.settings.fault = seen = CarriedOut()
    query = make_sink(feed.frame().repartition(2), stream).start()
    batches, workers = 5, 2
    for batch in range(batches):
        feed.add(numbered(batch * 10, 10))
        query.process_all()
    driver = batches  # at most: one call in each process that plans
    assert seen.calls["DescribeStreamSummary"] <= driver + workers < batches * workers
    assert seen.calls["ListShards"] <= workers + batches * workers
    assert seen.calls["PutRecords"] >= 5


@pytest.mark.tests
def test_replayed_batch(emulator: Emulator, stream: StreamUnderTest, feed: Feed, make_sink: MakeSink) -> None:
    """A batch whose commit was lost is written again: rows are written at least once."""
    feed.add(numbered(0, 10))
    query = make_sink(feed.frame(), stream).start().process_all().stop()
    (query.checkpoint / "commits" / "0").unlink()
    (query.checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    query.start().process_all()
    assert data_of(emulator, stream) == Counter({str(number): 2 for number in range(10)})
