"""The starting positions of a new query."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import Row, SparkSession

from kinesis_emulator import Emulator
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import Put, StreamUnderTest

MakeQuery = Callable[..., Query]
MakeStream = Callable[..., StreamUnderTest]
FIRST = "shardId-000000000000"
NOON = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=6)
"""Six hours ago, within the stream's retention of 24 hours."""


def read(spark: SparkSession, options: dict[str, str]) -> list[bytes]:
    return [bytes(row.data) for row in spark.read.format("kinesis").options(**options).load().collect()]


def by_shard(stream: StreamUnderTest) -> dict[str, list[Put]]:
    found: dict[str, list[Put]] = defaultdict(list)
    for put in stream.sent:
        found[put.shard_id].append(put)
    return found


def rows_by_shard(rows: list[Row]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for row in rows:
        found[row.shardId].append(bytes(row.data))
    return found


@pytest.mark.tests
@pytest.mark.parametrize("position", [None, "LATEST"])
@both_ways
def test_latest(stream: StreamUnderTest, make_query: MakeQuery, position: str | None) -> None:
    """A query starts at LATEST, also by default: it reads later records and no earlier ones."""
    stream.put("before")
    options = {**stream.options(), "startingPosition": position}
    query = make_query({name: value for name, value in options.items() if value is not None})
    query.start().wait_started()
    stream.put("after")
    assert query.wait_for_rows(1).payloads == [b"after"]


@both_ways
def test_oldest(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """TRIM_HORIZON starts with the oldest record."""
    stream.put("oldest", "old")
    query = make_query(stream.options(startingPosition="TRIM_HORIZON")).start()
    assert query.wait_for_rows(2).payloads == [b"oldest", b"old"]


def test_at_timestamp(spark: SparkSession, old_stream: StreamUnderTest) -> None:
    """AT_TIMESTAMP starts with the first record that arrived at that time or later, in all shards or in one."""
    for start in (
        f"AT_TIMESTAMP {NOON.isoformat()}",
        json.dumps({FIRST: {"AT_TIMESTAMP": NOON.isoformat()}}),
    ):
        assert read(spark, old_stream.options(startingPosition=start)) == [b"noon", b"afternoon"]


def test_a_duration_before_now(spark: SparkSession, emulator: Emulator, stream: StreamUnderTest) -> None:
    """A start and an end that are durations count back from the time when Spark plans the read."""
    for hours in (5, 3, 1):
        emulator.put(stream.name, f"{hours} hours", arrived_s=time.time() - hours * 3600)
    options = stream.options(startingPosition="4h ago", endingPosition="PT2H")
    assert read(spark, options) == [b"3 hours"]


@pytest.mark.tests
@pytest.mark.all_sparks
@pytest.mark.parametrize("is_committed", [True, False], ids=["continued", "replayed"])
def test_a_restart_does_not_count_a_duration_again(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, is_committed: bool
) -> None:
    """
    The duration counts back from the first start of a query. Its checkpoint and the replay of its first batch keep that time.

    Five minutes later, the last ten minutes are what the last five are now: so the restart with `5m` stands for a later one.
    """

    def put(*minutes: int) -> None:
        for ago in minutes:
            emulator.put(stream.name, f"{ago} minutes", arrived_s=time.time() - ago * 60)

    put(15, 8)
    query = make_query(stream.options(startingPosition="10m")).start().wait_for_rows(1).stop()
    if not is_committed:
        assert query.lose_last_commit() == 0
    put(7, 1)
    query.options["startingPosition"] = "5m"
    query.start().wait_for_rows(3)
    assert query.payloads == [b"8 minutes", b"7 minutes", b"1 minutes"]
    assert len(query.runs[0]) == (1 if is_committed else 2)


@pytest.mark.tests
def test_by_shard(make_stream: MakeStream, make_query: MakeQuery) -> None:
    """Each shard starts at its own position, and shards without one at their oldest record."""
    stream = make_stream(shards=4)
    stream.put_numbers(40)
    expected = {shard_id: [p.data for p in puts] for shard_id, puts in by_shard(stream).items()}
    first, second, third, _ = sorted(expected)
    puts = by_shard(stream)
    start = {
        first: {"AFTER": puts[first][1].sequence_number},
        second: {"AT_SEQUENCE_NUMBER": puts[second][1].sequence_number},
        third: "LATEST",
    }
    options = stream.options(startingPosition=json.dumps(start))
    query = make_query(options, schema="shardId string, data binary").start()
    for shard_id, started in ((first, 2), (second, 1), (third, len(expected[third]))):
        expected[shard_id] = expected[shard_id][started:]
    query.wait_for_rows(sum(map(len, expected.values())))
    assert rows_by_shard(query.rows) == {s: payloads for s, payloads in expected.items() if payloads}


def test_by_stream(make_stream: MakeStream, make_query: MakeQuery) -> None:
    """Each of several streams in one source starts at its own position, which may be given by shard."""
    orders, returns, sales = make_stream("orders"), make_stream("returns"), make_stream("sales")
    for stream in (orders, returns, sales):
        stream.put(f"{stream.name} 0", f"{stream.name} 1")
    start = {
        "orders": "LATEST",
        "returns": {FIRST: {"AFTER": returns.sent[0].sequence_number}},
        "sales": "EARLIEST",
    }
    options = orders.options(streamName="orders,returns,sales", startingPosition=json.dumps(start))
    query = make_query(options).start().wait_started()
    orders.put("orders 2")
    query.wait_for_rows(4)
    assert sorted(query.payloads) == [b"orders 2", b"returns 1", b"sales 0", b"sales 1"]


@pytest.fixture
def old_stream(emulator: Emulator, stream: StreamUnderTest) -> StreamUnderTest:
    for name, hours in (("morning", -2), ("noon", 0), ("afternoon", 2)):
        emulator.put(stream.name, name, arrived_s=(NOON + timedelta(hours=hours)).timestamp())
    return stream


@pytest.fixture
def late_service(emulator: Emulator) -> Iterator[Emulator]:
    """An emulator whose clock is 5 s behind the driver's."""
    with Emulator(settings=emulator.settings, clock=lambda: time.time() - 5) as running:
        yield running


def test_latest_with_a_driver_ahead_of_the_service(late_service: Emulator, make_query: MakeQuery) -> None:
    """LATEST works although the driver's clock is ahead of the service's, which refuses future timestamps."""
    stream = StreamUnderTest(late_service.endpoint_url)
    stream.put("before")
    query = make_query(stream.options(startingPosition="LATEST")).start().wait_started()
    stream.put("after")
    assert query.wait_for_rows(1).payloads == [b"after"]
