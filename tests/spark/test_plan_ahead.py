"""Batches that are planned while the previous one is processed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kinesis_emulator import Emulator, Fault, Limits, Settings
from kinesis_emulator.requests import Request
from support.spark_harness import Query
from support.streams import StreamUnderTest

RESPONSE_S = 0.1
"""Planning takes longer than the least time that is planned ahead."""
BATCH_S = 0.5


def respond_late(request: Request) -> Fault | None:
    if request.action in ("GetRecords", "GetShardIterator"):
        time.sleep(RESPONSE_S)
    return None


@pytest.fixture
def slow_stream() -> Iterator[StreamUnderTest]:
    with Emulator(settings=Settings(limits=Limits.unlimited(), fault=respond_late)) as emulator:
        yield StreamUnderTest(emulator.endpoint_url, shards=4)


def process(frame: DataFrame) -> list[Row]:
    rows = frame.collect()
    time.sleep(BATCH_S)
    return rows


def test_batches_planned_ahead_are_the_same(
    spark: SparkSession, tmp_path: Path, slow_stream: StreamUnderTest
) -> None:
    """A query that plans ahead reads each record once, in bounded batches, across a restart and a lost commit."""
    slow_stream.put_numbers(40)
    options = slow_stream.options(maxRecordsPerShard="2")
    query = Query(spark, tmp_path / "checkpoint", options, each=process).start()
    query.wait_for_rows(40).stop()
    lost = query.lose_last_commit()
    slow_stream.put_numbers(20)
    query.start().wait_for_rows(60).stop()
    assert sorted(query.payloads) == sorted(slow_stream.payloads)
    first, again = query.runs[lost]
    assert sorted(first) == sorted(again)
    assert len(query.batches) >= 5
