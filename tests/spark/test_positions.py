"""Where a new query begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]
NOON = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=6)
"""Noon somewhere, within the stream's retention of 24 hours."""


def read(spark: SparkSession, options: dict[str, str]) -> list[bytes]:
    return [bytes(row.data) for row in spark.read.format("kinesis").options(**options).load().collect()]


@pytest.mark.parametrize("position", [None, "LATEST"])
def test_latest(stream: StreamUnderTest, make_query: MakeQuery, position: str | None) -> None:
    """Said or not, a query starts at LATEST: what was put before is not seen, what comes after is."""
    stream.put("before")
    options = {**stream.options(), "startingPosition": position}
    query = make_query({name: value for name, value in options.items() if value is not None})
    query.start().wait_started()
    stream.put("after")
    assert query.wait_for_rows(1).payloads == [b"after"]


@pytest.mark.parametrize("position", ["TRIM_HORIZON", "EARLIEST"])
def test_oldest(stream: StreamUnderTest, make_query: MakeQuery, position: str) -> None:
    """TRIM_HORIZON and its alias EARLIEST begin with the oldest record."""
    stream.put("oldest", "old")
    query = make_query(stream.options(startingPosition=position)).start()
    assert query.wait_for_rows(2).payloads == [b"oldest", b"old"]


@pytest.mark.parametrize(
    "noon",
    [
        f"{NOON:%Y-%m-%dT%H:%M:%S}Z",
        NOON.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
        NOON.astimezone(timezone(timedelta(hours=-8))).isoformat(),
        f"{NOON.timestamp():.0f}",
    ],
    ids=["Z", "+05:30", "-08:00", "epoch"],
)
def test_at_timestamp(spark: SparkSession, old_stream: StreamUnderTest, noon: str) -> None:
    """AT_TIMESTAMP begins with the first record that arrived then or later, however the moment is written."""
    assert read(spark, old_stream.options(startingPosition=f"AT_TIMESTAMP {noon}")) == [b"noon", b"afternoon"]


@pytest.fixture
def old_stream(emulator: Emulator, stream: StreamUnderTest) -> StreamUnderTest:
    for name, hours in (("morning", -2), ("noon", 0), ("afternoon", 2)):
        emulator.put(stream.name, name, arrived_s=(NOON + timedelta(hours=hours)).timestamp())
    return stream


@pytest.fixture
def behind(emulator: Emulator) -> Iterator[Emulator]:
    """A service whose clock is 5 s behind the driver's."""
    with Emulator(settings=emulator.settings, clock=lambda: time.time() - 5) as running:
        yield running


def test_latest_with_a_driver_ahead_of_the_service(behind: Emulator, make_query: MakeQuery) -> None:
    """LATEST works although the driver's clock is ahead of the service's, which refuses future timestamps."""
    stream = StreamUnderTest(behind.endpoint_url)
    stream.put("before")
    query = make_query(stream.options(startingPosition="LATEST")).start().wait_started()
    stream.put("after")
    assert query.wait_for_rows(1).payloads == [b"after"]
