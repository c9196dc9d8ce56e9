"""Consumers of lifion-kinesis, for Node, which share the shards of the emulator's stream by a table in DynamoDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.installs import npm_ci
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.event_process import EventProcess
from support.streams import REGION, StreamUnderTest
from support.witness import CACHE, WitnessUnavailableError, require
from support.witnesses.claims import check_claim
from support.witnesses.environment import PROGRAMS

pytestmark = [pytest.mark.witness, pytest.mark.libraries]
HERE = PROGRAMS / "lifion"


@pytest.fixture
def start(
    stream: StreamUnderTest, dynamodb_local: DynamoDbLocal, tmp_path: Path
) -> Iterator[Callable[[str], EventProcess]]:
    """Yield a function that starts a consumer by its name."""
    try:
        modules = npm_ci("lifion-kinesis", HERE, CACHE) / "node_modules"
    except WitnessUnavailableError as error:
        require(error)
    given = {
        "kinesis": stream.endpoint_url,
        "dynamodb": dynamodb_local.endpoint_url,
        "region": REGION,
        "application": "lifion",
        "stream": stream.name,
    }
    command = ["node", str(HERE / "read.cjs"), *(f"{name}={value}" for name, value in given.items())]
    environment = {**os.environ, "NODE_PATH": str(modules)}
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(EventProcess(command, tmp_path / name, environment))


def data(*consumers: EventProcess) -> list[str]:
    events = [event for consumer in consumers for event in consumer.events("records")]
    return [record for event in events for record in event["records"]]


def test_over_reshards_and_a_kill(stream: StreamUnderTest, start: Callable[[str], EventProcess]) -> None:
    """
    300 records over a split and a merge come once each. After `kill -9` of their consumer another one reads the next 100.

    It polls. By fan-out lifion-kinesis 1.3.3 calls the host that it signs for, which is AWS's, and loses its place in the events if
    two come together.
    """
    first = start("first")
    stream.put_numbers(100)
    first.wait_until(lambda: len(data(first)) >= 100)
    stream.split()
    stream.put_numbers(100)
    stream.merge(1)
    stream.put_numbers(100)
    first.wait_until(lambda: len(data(first)) >= 300)
    first.kill()  # it commits records before it shows them
    stream.put_numbers(100)
    second = start("second")
    second.wait_until(lambda: len(data(first, second)) >= 400)
    sent = [str(number) for number in range(400)]
    what = "polls over a split, a merge and the kill of a consumer"
    check_claim("lifion-kinesis", what, sent, data(first, second))
