"""Records that left the stream while a query was down: an error by default, a warning on request, and never more than that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kinesis_emulator import Emulator, Limits, ManualClock, Settings
from support.python_log import PythonLog
from support.spark_harness import Query
from support.streams import StreamUnderTest

pytestmark = pytest.mark.all_sparks
MakeQuery = Callable[..., Query]
A_DAY_AND_AN_HOUR_S = 25 * 3600


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(time.time())


@pytest.fixture
def emulator(clock: ManualClock) -> Iterator[Emulator]:
    """A Kinesis with a clock that the test sets, in whose time no status would pass."""
    settings = Settings(limits=Limits.unlimited(), stream_creating_s=0, stream_updating_s=0)
    with Emulator(settings=settings, clock=clock) as running:
        yield running


@pytest.fixture
def half_read(stream: StreamUnderTest, make_query: MakeQuery) -> Query:
    """A query that has read the first five of ten records, and is down."""
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    stream.put_numbers(5)
    return query


def continues_only_without_failing(query: Query, python_log: PythonLog, shard_id: str, rows: int) -> None:
    with pytest.raises(Exception, match="failOnDataLoss=false") as caught:
        query.start().wait(lambda: False, "error")
    for part in ("DataLossError", f"shard={shard_id}", "cut="):
        assert part in str(caught.value)
    query.options["failOnDataLoss"] = "false"
    query.start().wait_for_rows(rows).stop()
    (line,) = python_log.lines("data.lost")
    assert f"shard={shard_id}" in line


@pytest.mark.tests
def test_a_position_that_was_trimmed(
    clock: ManualClock, stream: StreamUnderTest, half_read: Query, python_log: PythonLog
) -> None:
    """
    A start that left retention while the query was down stops it, naming shard, position, retention and option; with
    failOnDataLoss=false that is one warning, and it continues with the oldest record.
    """
    clock.advance(A_DAY_AND_AN_HOUR_S)
    stream.put_numbers(5)
    continues_only_without_failing(half_read, python_log, "shardId-000000000000", 10)
    assert half_read.payloads == [*stream.payloads[:5], *stream.payloads[10:]]
    assert "retention 24 h" in python_log.lines("data.lost")[0]


@pytest.mark.tests
def test_a_shard_past_retention(
    clock: ManualClock, stream: StreamUnderTest, half_read: Query, python_log: PythonLog
) -> None:
    """
    A shard that was split, and left the stream before it was read, stops the query, which names it; with failOnDataLoss=false it
    warns and continues with the children.
    """
    stream.split()
    clock.advance(A_DAY_AND_AN_HOUR_S)
    stream.put_numbers(5)
    continues_only_without_failing(half_read, python_log, "shardId-000000000000", 10)
    assert sorted(half_read.payloads) == sorted([*stream.payloads[:5], *stream.payloads[10:]])


@pytest.mark.tests
def test_a_long_silence_is_no_loss(
    clock: ManualClock, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """A query that was down for less than the retention, on a stream that was silent, loses nothing, and nothing is reported."""
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    clock.advance(20 * 3600)
    stream.put_numbers(5)
    assert query.start().wait_for_rows(10).payloads == stream.payloads


OLD = 600
"""Records of a live stream, one a second, the oldest of which are about to leave it."""


def fill_up_to_the_retention(emulator: Emulator, stream: StreamUnderTest, clock: ManualClock) -> None:
    for second in range(OLD):
        emulator.put(stream.name, b"%d" % second, "k", arrived_s=clock.now_s - 24 * 3600 + second)


def test_a_start_at_the_oldest_record_of_a_live_stream(
    emulator: Emulator, clock: ManualClock, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """A query that starts at TRIM_HORIZON reads its first batch, though records leave the stream until its tasks start."""
    fill_up_to_the_retention(emulator, stream, clock)

    def later(frame: DataFrame) -> list[Row]:
        clock.advance(60)
        return frame.collect()

    query = make_query(stream.options(startingPosition="TRIM_HORIZON"), each=later)
    started_s = time.monotonic()
    numbers = [int(data) for data in query.start(availableNow=True).finish().payloads]
    passed_s = time.monotonic() - started_s  # for the planner, while the emulator's clock stands still
    assert numbers == list(range(numbers[0], OLD))
    assert 299 <= numbers[0] <= 301 + passed_s


def test_the_way_out_of_a_batch_that_has_left_in_part(
    emulator: Emulator,
    clock: ManualClock,
    stream: StreamUnderTest,
    make_query: MakeQuery,
    python_log: PythonLog,
) -> None:
    """
    A batch that was planned, and has left the stream in part, fails each time and names the way out, which skips what is gone
    and nothing else.
    """
    fill_up_to_the_retention(emulator, stream, clock)
    leaves_s = iter([200.0])

    def later(frame: DataFrame) -> list[Row]:
        clock.advance(next(leaves_s, 0.0))
        return frame.collect()

    query = make_query(stream.options(startingPosition="TRIM_HORIZON", trimHorizonMargin="0"), each=later)
    for _ in range(2):
        with pytest.raises(
            Exception,
            match="To read the records that are left and skip the others for good, set failOnDataLoss=false",
        ):
            query.start(availableNow=True).finish()
    query.options["failOnDataLoss"] = "false"
    numbers = [int(data) for data in query.start(availableNow=True).finish().payloads]
    assert numbers == list(range(numbers[0], OLD))
    assert 195 <= numbers[0] <= 260
    assert python_log.lines("data.lost")
    query.options["failOnDataLoss"] = "true"
    emulator.put(stream.name, b"600", "k")
    assert [int(data) for data in query.start(availableNow=True).finish().payloads][-1] == OLD


HOUR = 60
"""Records of an hour, one a minute, of which the first half has expired."""


@pytest.fixture
def half_expired(emulator: Emulator, stream: StreamUnderTest, clock: ManualClock) -> dict[str, str]:
    """Return the options of a start at the first of these records, in a stream that is older than its retention."""
    clock.advance(3 * 24 * 3600)
    began_s = clock.now_s - 24 * 3600 - 29.5 * 60
    for minute in range(HOUR):
        emulator.put(stream.name, b"%d" % minute, "k", arrived_s=began_s + 60 * minute)
    return stream.options(startingPosition=f"AT_TIMESTAMP {began_s:.3f}")


def rows_left(payloads: list[bytes]) -> list[int]:
    """Return the numbers of the first records that were read, after a check that nothing after them is missing."""
    numbers = sorted(map(int, payloads))
    assert numbers == list(range(numbers[0], HOUR))
    return numbers[:1]


@pytest.mark.tests
def test_a_batch_read_of_an_hour_of_which_half_has_expired(
    spark: SparkSession, half_expired: dict[str, str], python_log: PythonLog
) -> None:
    """It is an error that names the time and the retention; with failOnDataLoss=false a warning, and all rows that are left."""
    with pytest.raises(Exception, match=r"DataLossError: Option 'startingPosition' .* retention is 24 h"):
        spark.read.format("kinesis").options(**half_expired).load().collect()
    rows = spark.read.format("kinesis").options(**half_expired, failOnDataLoss="false").load().collect()
    assert rows_left([bytes(row.data) for row in rows]) == [30]
    assert python_log.lines("start.expired")


@pytest.mark.tests
def test_a_query_from_an_hour_of_which_half_has_expired(
    half_expired: dict[str, str], make_query: MakeQuery, python_log: PythonLog
) -> None:
    """A streaming query from there is the same error or warning, and it skips nothing that is left."""
    query = make_query(half_expired)
    with pytest.raises(
        Exception, match=r"Option 'startingPosition' .* retention is 24 h\. Start at TRIM_HORIZON"
    ):
        query.start().wait(lambda: False, "error")
    query.options["failOnDataLoss"] = "false"
    assert rows_left(query.start().wait_for_rows(30).stop().payloads) == [30]
    assert len(python_log.lines("start.expired")) == 1
