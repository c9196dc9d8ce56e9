"""Queries by enhanced fan-out that cannot start: what they leave behind, and their errors."""

from __future__ import annotations

import os
import signal

import pytest

from kinesis_core.errors import ResourceInUseError, StreamNotFoundError
from kinesis_emulator import Emulator, Fault
from kinesis_emulator.requests import Request
from support.halves import plan, streaming
from support.streams import StreamUnderTest

FAN_OUT = {"consumerType": "SubscribeToShard"}


def test_a_stop_while_the_consumer_is_created(emulator: Emulator, stream: StreamUnderTest) -> None:
    """A query that Spark stops while it waits for its new consumer deregisters that consumer."""

    def stop_once_registered(request: Request) -> Fault | None:
        if request.action == "DescribeStreamConsumer" and emulator.calls.count("RegisterStreamConsumer"):
            emulator.settings.fault = None
            os.kill(os.getpid(), signal.SIGTERM)
        return None

    emulator.settings.consumer_creating_s = 3600
    emulator.settings.fault = stop_once_registered
    with pytest.raises(SystemExit), streaming(stream.options(**FAN_OUT)) as reader:
        plan(reader)
    assert emulator.calls.count("DeregisterStreamConsumer") == 1


@pytest.mark.parametrize(("keep", "removed"), [("false", 1), ("true", 0)])
def test_a_consumer_that_was_registered_in_vain(
    emulator: Emulator, stream: StreamUnderTest, keep: str, removed: int
) -> None:
    """A consumer that the query registered and that is not ACTIVE in time is deregistered, unless it is to be kept."""
    emulator.settings.consumer_creating_s = 3600
    options = stream.options(**FAN_OUT, subscribeTimeout="1 s", keepConsumer=keep)
    with pytest.raises(ResourceInUseError, match="not ACTIVE after 1 s"), streaming(options) as reader:
        plan(reader)
    assert emulator.calls.count("RegisterStreamConsumer") == 1
    assert emulator.calls.count("DeregisterStreamConsumer") == removed


def test_a_consumer_that_must_exist(emulator: Emulator, stream: StreamUnderTest) -> None:
    """A consumer given by `registeredConsumerId` that does not exist is named in the error, and is not registered."""
    options = stream.options(**FAN_OUT, registeredConsumerId="mistaken")
    with (
        pytest.raises(StreamNotFoundError, match="Consumer 'mistaken' does not exist"),
        streaming(options) as reader,
    ):
        plan(reader)
    assert emulator.calls.count("RegisterStreamConsumer") == 0
