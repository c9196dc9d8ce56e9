"""A query continues writing while its stream changes: Kinesis distributes the records, or the stream is recreated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from spark.sinks import Feed, SinkQuery, sink_options, write
from spark.written import user_records
from support.streams import StreamUnderTest

MakeStream = Callable[..., StreamUnderTest]
ROWS = 600


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path / "feed", "data string, partitionKey string")


def rows(batch: int) -> Iterable[tuple[str, str | None]]:
    """Return the rows of a batch, every third of which has no key."""
    numbers = range(batch * ROWS, batch * ROWS + ROWS)
    return [(str(number), f"key-{number}" if number % 3 else None) for number in numbers]


def test_a_stream_that_begins_and_ends_to_distribute_its_records(
    spark: SparkSession, emulator: Emulator, make_stream: MakeStream, feed: Feed, tmp_path: Path
) -> None:
    """
    The query continues after both switches. No row is missing, and only rows in flight at a switch are written twice. A
    row written without a key in between has no key when it is read.
    """
    stream = make_stream()
    emulator.delete_stream(stream.name)
    emulator.create_stream(stream.name, shards=4, strategy="USER_PARTITION_KEY")
    options = sink_options(stream, aggregationMaxSize="1000")
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", options).start()
    for batch in range(6):
        if batch == 2:
            emulator.distribute(stream.name, "AUTO")
        if batch == 4:
            emulator.distribute(stream.name, "USER_PARTITION_KEY")
        feed.add(rows(batch))
        query.process_all()
        if batch == 3:
            keyless = spark.createDataFrame([(str(6 * ROWS), None)], "data string, partitionKey string")
            write(keyless, sink_options(stream, maxConnections="3"))  # by another producer
    query.stop()
    found = spark.read.format("kinesis").options(**stream.options()).load().collect()
    copies = Counter(int(row.data) for row in found)
    assert set(copies) == set(range(6 * ROWS + 1))
    assert {number for number, count in copies.items() if count > 1} <= set(range(2 * ROWS, 4 * ROWS))
    found_keyless = {int(row.data) for row in found if row.partitionKey is None}
    assert {6 * ROWS} <= found_keyless <= {6 * ROWS, *range(2 * ROWS, 4 * ROWS, 3)}


def test_a_stream_that_is_recreated_between_two_batches(
    emulator: Emulator, make_stream: MakeStream, feed: Feed, tmp_path: Path
) -> None:
    """Spark's Python workers keep their producers, which route the next rows by the shards of the new stream."""
    stream = make_stream(shards=2)
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", sink_options(stream)).start()
    for batch in range(3):
        if batch:
            emulator.delete_stream(stream.name)
            emulator.create_stream(stream.name, shards=2 + batch)
        feed.add(rows(batch))
        query.process_all()
        assert Counter(int(record.data) for record in user_records(emulator, stream.name)) == Counter(
            range(batch * ROWS, batch * ROWS + ROWS)
        )
        shards = {shard["ShardId"]: shard["HashKeyRange"] for shard in stream.open_shards()}
        for record in user_records(emulator, stream.name):
            keys = shards[record.shard_id]
            assert int(keys["StartingHashKey"]) <= record.hash_key <= int(keys["EndingHashKey"])
    query.stop()
