"""Faults inside a subscription, and how an unpatched boto3 reports each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import EventStreamError
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from kinesis_emulator import Emulator, EventFault, Fault, ManualClock
from support.waiting import PATIENCE_S

SHARD = "shardId-000000000000"
Suffer = Callable[..., Iterator[dict[str, Any]]]


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Yield a list for the event streams that a test opens, each with its client, and close them."""
    those: list[Any] = []
    yield those
    for one in those:
        one.close()


@pytest.fixture
def suffer(emulator: Emulator, opened: list[Any], new_client: Callable[..., Any]) -> Suffer:
    """Return a function that subscribes with a fault and returns the events."""
    arn = emulator.register_consumer("orders", "one")

    def subscribe(fault: EventFault) -> Iterator[dict[str, Any]]:
        client = new_client(emulator.endpoint_url, attempts=5)
        emulator.settings.fault = lambda _: Fault(events=fault)
        start = {"Type": "TRIM_HORIZON"}
        response = client.subscribe_to_shard(ConsumerARN=arn, ShardId=SHARD, StartingPosition=start)
        opened.extend([response["EventStream"], client])
        return (event["SubscribeToShardEvent"] for event in response["EventStream"])

    return subscribe


def data_of(event: dict[str, Any]) -> list[bytes]:
    return [record["Data"] for record in event["Records"]]


def test_a_cut_in_the_middle_of_an_event_is_a_protocol_error(emulator: Emulator, suffer: Suffer) -> None:
    """boto3 raises urllib3's ProtocolError, retries nothing, and returns no part of the event."""
    events = suffer(EventFault(after_events=1, cut=True))
    next(events)
    emulator.put("orders", b"cut")
    with pytest.raises(ProtocolError):
        next(events)
    assert emulator.calls.count("SubscribeToShard") == 1


def test_silence_is_a_read_timeout(suffer: Suffer, opened: list[Any]) -> None:
    """A connection without data raises urllib3's ReadTimeoutError after boto3's `read_timeout`."""
    events = suffer(EventFault(after_events=1, silence=True))
    next(events)
    connection = opened[0]._raw_stream._fp.fp.raw._sock
    assert connection.gettimeout() == PATIENCE_S
    connection.settimeout(0.01)  # and not before, as the first event takes its time on a busy machine
    with pytest.raises(ReadTimeoutError):
        next(events)


@pytest.mark.parametrize("code", ["InternalFailureException", "ResourceInUseException"])
def test_an_error_among_the_events_is_an_event_stream_error(suffer: Suffer, code: str) -> None:
    """An exception frame raises an EventStreamError with code and message, and without ResponseMetadata."""
    events = suffer(EventFault(after_events=1, code=code, message="Try again."))
    next(events)
    with pytest.raises(EventStreamError) as caught:
        next(events)
    assert caught.value.response == {"Error": {"Code": code, "Message": "Try again."}}


def test_empty_events_with_lag_come_before_the_records(
    emulator: Emulator, suffer: Suffer, clock: ManualClock
) -> None:
    """Empty events with lag do not lose the records after them."""
    emulator.put("orders", b"late")
    clock.advance(1)
    events = suffer(EventFault(empty_events=3, millis_behind=7_000))
    gap = [next(events) for _ in range(3)]
    assert [(data_of(event), event["MillisBehindLatest"]) for event in gap] == [([], 7_000)] * 3
    assert data_of(next(events)) == [b"late"]


def test_the_first_event_may_be_late(emulator: Emulator, suffer: Suffer, clock: ManualClock) -> None:
    """During `pause_s` of the clock there is no event. Records that arrive meanwhile are in the first event."""
    events = suffer(EventFault(pause_s=30))
    emulator.put("orders", b"1")
    clock.advance(29)
    emulator.put("orders", b"2")
    clock.advance(1)
    assert data_of(next(events)) == [b"1", b"2"]
