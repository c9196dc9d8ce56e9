"""Consumers of async-kinesis, which share the shards of the emulator's stream by a table in DynamoDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.event_process import EventProcess
from support.streams import StreamUnderTest
from support.witness import WitnessUnavailableError, require
from support.witnesses.claims import check_claim
from support.witnesses.environment import start_program

pytestmark = [pytest.mark.witness, pytest.mark.libraries]


@pytest.fixture
def start(
    stream: StreamUnderTest, dynamodb_local: DynamoDbLocal, tmp_path: Path
) -> Iterator[Callable[[str], EventProcess]]:
    """Yield a function that starts a consumer by its name."""
    endpoints = {"kinesis": stream.endpoint_url, "dynamodb": dynamodb_local.endpoint_url}
    with ExitStack() as stack:

        def started(worker: str) -> EventProcess:
            arguments = {"stream": stream.name, "application": "async-kinesis", "worker": worker}
            try:
                process = start_program("async_kinesis_read.py", tmp_path / worker, arguments, endpoints)
            except WitnessUnavailableError as error:
                require(error)
            return stack.enter_context(process)

        yield started


def data(*consumers: EventProcess) -> list[str]:
    return [event["data"] for consumer in consumers for event in consumer.events("record")]


def test_over_reshards_and_a_kill(stream: StreamUnderTest, start: Callable[[str], EventProcess]) -> None:
    """
    300 records over a split and a merge come once each. After `kill -9` of their consumer another one reads the next 100.

    It promises that every record comes at least once. At the end of a shard async-kinesis 3.0.1 forgets what it has not committed yet,
    so the next consumer reads that again, and nothing of the open shards.
    """
    first = start("first")
    stream.put_numbers(100)
    first.wait_until(lambda: len(data(first)) >= 100)
    stream.split()
    stream.put_numbers(100)
    stream.merge(1)
    stream.put_numbers(100)
    first.wait_until(lambda: len(data(first)) >= 300)
    idle = len(first.events("idle"))
    first.wait_until(
        lambda: len(first.events("idle")) >= idle + 2
    )  # it commits when it asks for the next record
    sent = [str(number) for number in range(400)]
    check_claim("async-kinesis", "reads over a split and a merge", sent[:300], data(first))
    first.kill()
    stream.put_numbers(100)
    second = start("second")
    second.wait_until(lambda: set(data(first, second)) == set(sent))
    check_claim("async-kinesis", "a consumer is killed, and another one goes on", sent, data(first, second))
    twice = {record for record, count in Counter(data(first, second)).items() if count > 1}
    open_shards = {shard["ShardId"] for shard in stream.open_shards()}
    assert not twice & {put.data.decode() for put in stream.sent if put.shard_id in open_shards}
