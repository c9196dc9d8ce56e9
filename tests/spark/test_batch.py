"""spark.read: from one position to another."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from support.streams import StreamUnderTest

pytestmark = pytest.mark.tests

NOON = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=6)
Read = Callable[..., list[bytes]]


@pytest.fixture
def read(spark: SparkSession) -> Read:
    def read(options: dict[str, Any]) -> list[bytes]:
        frame = spark.read.format("kinesis").options(**options).load()
        return [bytes(row.data) for row in frame.collect()]

    return read


def test_everything(stream: StreamUnderTest, read: Read) -> None:
    """Without positions, a batch read returns everything from the oldest record to the tip."""
    stream.put_numbers(10)
    stream.split()
    stream.put_numbers(10)
    options = stream.options()
    del options["startingPosition"]
    payloads = read(options)
    assert payloads[:10] == stream.payloads[:10]
    assert sorted(payloads) == sorted(stream.payloads)


def test_between_two_times(emulator: Emulator, stream: StreamUnderTest, read: Read) -> None:
    """Times limit a batch read. Records that arrived at the start time are included, those at the end time are not."""
    for minute in range(10):
        emulator.put(stream.name, str(minute), arrived_s=NOON.timestamp() + 60 * minute)
    options = stream.options(
        startingPosition=f"AT_TIMESTAMP {(NOON + timedelta(minutes=3)).isoformat()}",
        endingPosition=f"AT_TIMESTAMP {(NOON + timedelta(minutes=6)).isoformat()}",
    )
    assert read(options) == [b"3", b"4", b"5"]


def test_between_two_sequence_numbers(stream: StreamUnderTest, read: Read) -> None:
    """Sequence numbers by shard limit a batch read exactly."""
    puts = stream.put_numbers(10)
    shard = puts[0].shard_id
    options = stream.options(
        startingPosition=json.dumps({shard: {"AFTER": puts[2].sequence_number}}),
        endingPosition=json.dumps({shard: {"AFTER": puts[6].sequence_number}}),
    )
    assert read(options) == [b"3", b"4", b"5", b"6"]


def test_empty(stream: StreamUnderTest, read: Read) -> None:
    """An empty stream has no rows."""
    assert read(stream.options()) == []


def test_one_frame_collected_twice(spark: SparkSession, stream: StreamUnderTest) -> None:
    """Collecting a frame twice returns the same records, also after new records were put."""
    stream.put_numbers(5)
    frame = spark.read.format("kinesis").options(**stream.options()).load()
    first = frame.collect()
    stream.put_numbers(5)
    assert frame.collect() == first


def test_by_the_name_of_the_jvm_connector(spark: SparkSession, stream: StreamUnderTest) -> None:
    """After register(spark), the code of a job for the awslabs connector reads unchanged."""
    from spark_kinesis_source import register

    register(spark)
    stream.put_numbers(3)
    ours = stream.options()
    options = {
        "kinesis.streamName": ours["streamName"],
        "kinesis.endpointUrl": ours["endpointUrl"],
        "kinesis.region": ours["region"],
        "kinesis.awsAccessKeyId": ours["awsAccessKeyId"],
        "kinesis.awsSecretKey": ours["awsSecretKey"],
        "kinesis.startingPosition": "TRIM_HORIZON",
    }
    assert spark.read.format("aws-kinesis").options(**options).load().count() == 3
