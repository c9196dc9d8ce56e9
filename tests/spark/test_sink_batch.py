"""df.write: the contents of the stream afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import md5

import pytest
from pyspark.sql import Row, SparkSession

from kinesis_emulator import Emulator
from spark.sinks import sink_options, write
from spark.written import user_records
from support.aggregates import aggregate
from support.checks import CarriedOut
from support.streams import StreamUnderTest

either = pytest.mark.parametrize("aggregated", ["true", "false"])
MAX_HASH_KEY = 2**128 - 1
READ_COLUMNS = "data binary, partitionKey string, explicitHashKey string, shardId string"
MakeStream = Callable[..., StreamUnderTest]


def read(spark: SparkSession, stream: StreamUnderTest) -> list[Row]:
    reader = spark.read.format("kinesis").options(**stream.options()).schema(READ_COLUMNS)
    return reader.load().collect()


@pytest.mark.tests
@pytest.mark.all_sparks
@either
def test_write_and_read_back(spark: SparkSession, make_stream: MakeStream, aggregated: str) -> None:
    """Every row is written once, and is read back with its key, by the custom endpoint and by the ARN."""
    stream = make_stream(shards=3)
    rows = [(f"data-{number}", f"key-{number % 50}") for number in range(2000)]
    frame = spark.createDataFrame(rows, "data string, partitionKey string").repartition(4)
    arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{stream.name}"
    write(frame, sink_options(stream, aggregationEnabled=aggregated, streamName=None, streamARN=arn))
    found = [(bytes(row.data).decode(), row.partitionKey) for row in read(spark, stream)]
    assert sorted(found) == sorted(rows)


def test_read_by_another_implementation(
    spark: SparkSession, emulator: Emulator, make_stream: MakeStream
) -> None:
    """aws_kinesis_agg unpacks the aggregates, which hold only user records of their shard."""
    stream = make_stream(shards=4)
    rows = [(f"data-{number}", f"key-{number % 100}") for number in range(3000)]
    write(spark.createDataFrame(rows, "data string, partitionKey string"), sink_options(stream))
    found = user_records(emulator, stream.name)
    assert sorted((record.data.decode(), record.partition_key) for record in found) == sorted(rows)
    assert all(record.is_aggregated for record in found)
    assert len(emulator.records(stream.name)) < len(rows) / 20
    owners = emulator.shard_ids(stream.name)
    assert {record.shard_id for record in found} == set(owners)
    assert all(owners[record.hash_key * 4 >> 128] == record.shard_id for record in found)


@either
def test_rows_that_are_aggregates(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, aggregated: str
) -> None:
    """Aggregates, as a source with deaggregate=false returns them, are records of their own beside other rows."""
    packed = [aggregate([("k", None, b"%d-%d" % (n, index)) for index in range(3)]) for n in range(4)]
    rows = [(data, "a") for data in (*packed, packed[0][:-1], b"plain", b"other")]
    write(
        spark.createDataFrame(rows, "data binary, partitionKey string").coalesce(1),
        sink_options(stream, aggregationEnabled=aggregated),
    )
    stored = Counter((record.data, record.partition_key) for record in emulator.records(stream.name))
    assert all(stored[data, "a"] == 1 for data in packed)
    assert stored.total() == (5 if aggregated == "true" else 7)
    inside = [(b"%d-%d" % (n, index), "k") for n in range(4) for index in range(3)]
    assert Counter((bytes(row.data), row.partitionKey) for row in read(spark, stream)) == Counter(
        [*inside, *rows[4:]]
    )


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_types(spark: SparkSession, stream: StreamUnderTest, kind: str) -> None:
    """Data and partition keys may be text or bytes. Data may be empty."""
    rows = [("grün", "schlüssel"), ("", "k")]
    frame = spark.createDataFrame(rows, "data string, partitionKey string")
    frame = frame.selectExpr(
        f"cast(partitionKey as {kind}) partitionKey", f"cast(data as {kind}) data", "1 as other"
    )
    write(frame, sink_options(stream))
    assert sorted((bytes(row.data).decode(), row.partitionKey) for row in read(spark, stream)) == sorted(rows)


@either
def test_null_partition_keys(
    spark: SparkSession, make_stream: MakeStream, emulator: Emulator, aggregated: str
) -> None:
    """Rows without a partition key get random ones, which spread them over the shards."""
    stream = make_stream(shards=4)
    rows = [(str(number), None if number % 2 else "mine") for number in range(1000)]
    write(
        spark.createDataFrame(rows, "data string, partitionKey string"),
        sink_options(stream, aggregationEnabled=aggregated),
    )
    found = read(spark, stream)
    assert sorted(int(row.data) for row in found) == list(range(1000))
    assert {row.partitionKey for row in found if int(row.data) % 2 == 0} == {"mine"}
    others = [row for row in found if int(row.data) % 2]
    assert len({row.partitionKey for row in others}) > 50
    assert {row.shardId for row in others} == set(emulator.shard_ids(stream.name))


@pytest.mark.all_sparks
@either
def test_explicit_hash_keys_route(
    spark: SparkSession, make_stream: MakeStream, emulator: Emulator, aggregated: str
) -> None:
    """
    An explicit hash key decides the shard of a row, before its partition key. A null leaves it to the partition key.
    """
    stream = make_stream(shards=2)
    low, high = emulator.shard_ids(stream.name)
    rows = [("low", "k", "0"), ("high", "k", str(MAX_HASH_KEY)), ("by key", "k", None)] * 10
    frame = spark.createDataFrame(rows, "data string, partitionKey string, explicitHashKey string")
    write(frame, sink_options(stream, aggregationEnabled=aggregated))
    found = {(bytes(row.data).decode(), row.shardId) for row in read(spark, stream)}
    own = (
        low if int.from_bytes(md5(b"k", usedforsecurity=False).digest(), "big") <= MAX_HASH_KEY // 2 else high
    )
    assert found == {("low", low), ("high", high), ("by key", own)}


@pytest.mark.all_sparks
@either
def test_rows_name_their_stream(
    spark: SparkSession, emulator: Emulator, make_stream: MakeStream, aggregated: str
) -> None:
    """Without a stream in the options, the column streamName names the stream of each row."""
    streams = [make_stream(f"part-{number}") for number in range(20)]
    rows = [(str(number), f"part-{number % 20}") for number in range(2000)]
    options = sink_options(streams[0], streamName=None, aggregationEnabled=aggregated)
    write(spark.createDataFrame(rows, "data string, streamName string"), options)
    for index, stream in enumerate(streams):
        found = sorted(int(record.data) for record in user_records(emulator, stream.name))
        assert found == list(range(index, 2000, 20))


@pytest.mark.tests
def test_empty(spark: SparkSession, emulator: Emulator, stream: StreamUnderTest) -> None:
    """A frame without rows writes nothing."""
    emulator.settings.fault = seen = CarriedOut()
    write(spark.createDataFrame([], "data string"), sink_options(stream))
    assert seen.calls["PutRecords"] == 0
