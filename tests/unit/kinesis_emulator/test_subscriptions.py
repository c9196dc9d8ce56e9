"""Subscriptions with a manual clock, read by an unpatched boto3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import EventStreamError

from kinesis_emulator import Emulator, Limits, ManualClock

SHARD = "shardId-000000000000"
Events = Iterator[dict[str, Any]]
Subscribe = Callable[..., Events]


def data_of(event: dict[str, Any]) -> list[bytes]:
    return [record["Data"] for record in event["Records"]]


def test_a_consumer_is_creating_active_deleting_and_gone(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Any
) -> None:
    """A consumer's status follows the clock. It can be subscribed through only while it is ACTIVE."""
    emulator.settings.consumer_creating_s = emulator.settings.consumer_deleting_s = 10
    stream = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    arn = client.register_stream_consumer(StreamARN=stream, ConsumerName="slow")["Consumer"]["ConsumerARN"]

    def status() -> str:
        return str(client.describe_stream_consumer(ConsumerARN=arn)["ConsumerDescription"]["ConsumerStatus"])

    assert status() == "CREATING"
    subscription = {"ConsumerARN": arn, "ShardId": SHARD, "StartingPosition": {"Type": "LATEST"}}
    assert refusal(client.subscribe_to_shard, **subscription)[0] == "ResourceInUseException"
    clock.advance(10)
    assert status() == "ACTIVE"
    client.deregister_stream_consumer(ConsumerARN=arn)
    assert status() == "DELETING"
    clock.advance(10)
    assert refusal(client.describe_stream_consumer, ConsumerARN=arn)[0] == "ResourceNotFoundException"


def test_an_event_without_records_comes_every_five_seconds(
    emulator: Emulator, subscribe: Subscribe, clock: ManualClock
) -> None:
    """A heartbeat has a continuation, and shows that there are no more records."""
    last = emulator.put("orders", b"last")
    events = subscribe()
    assert data_of(next(events)) == [b"last"]
    clock.advance(5)
    heartbeat = next(events)
    assert (data_of(heartbeat), heartbeat["MillisBehindLatest"]) == ([], 0)
    assert int(heartbeat["ContinuationSequenceNumber"]) >= int(last.sequence_number)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("by_call", [True, False])
def test_a_record_wakes_the_subscription(
    emulator: Emulator, client: Any, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch, by_call: bool
) -> None:
    """An event comes because of the record. Else it would come when the subscription looks for itself, which is never here."""
    monkeypatch.setattr("kinesis_emulator.subscriptions._LONGEST_WAIT_S", 1e6)
    emulator.settings.heartbeat_s = emulator.settings.subscription_life_s = 1e6
    events = subscribe("LATEST")
    next(events)
    if by_call:
        client.put_records(StreamName="orders", Records=[{"Data": b"new", "PartitionKey": "a"}])
    else:
        emulator.put("orders", b"new")
    assert data_of(next(events)) == [b"new"]
    emulator.delete_stream("orders")  # wakes it, so that it ends


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_reading_can_continue_after_an_empty_event(
    emulator: Emulator, subscribe: Subscribe, clock: ManualClock, kind: str
) -> None:
    """A subscription from an empty event's continuation begins with the records that were put after it."""
    emulator.put("orders", b"before")
    events = subscribe("LATEST")
    next(events)
    clock.advance(5)
    number = next(events)["ContinuationSequenceNumber"]
    emulator.put("orders", b"after")
    assert data_of(next(subscribe(kind, SequenceNumber=number))) == [b"after"]


def test_a_subscription_ends_after_five_minutes(subscribe: Subscribe, clock: ManualClock) -> None:
    """The events end without an error 300 seconds after the call."""
    events = subscribe()
    next(events)
    clock.advance(300)
    assert list(events) == []


def test_the_older_subscription_ends_with_an_error_when_it_is_taken_over(
    emulator: Emulator, subscribe: Subscribe, clock: ManualClock
) -> None:
    """After 5 seconds a second subscription is accepted, and boto3 raises an EventStreamError for the first one."""
    older = subscribe()
    next(older)
    clock.advance(5)
    next(older)
    newer = subscribe()
    next(newer)
    with pytest.raises(EventStreamError, match="Another active subscription exists") as caught:
        next(older)
    assert caught.value.response == {
        "Error": {
            "Code": "ResourceInUseException",
            "Message": f"Another active subscription exists for this consumer: 000000000000:orders:{SHARD}:one",
        }
    }
    emulator.put("orders", b"for the newer")
    assert data_of(next(newer)) == [b"for the newer"]
    assert emulator.subscriptions("orders") == [("one", SHARD)]


def test_a_subscription_that_is_taken_over_may_just_end(
    emulator: Emulator, subscribe: Subscribe, clock: ManualClock
) -> None:
    """With `taken_over = "ends"` the older subscription ends without an error."""
    emulator.settings.taken_over = "ends"
    older = subscribe()
    next(older)
    clock.advance(5)
    next(older)
    next(subscribe())
    assert list(older) == []


def test_a_subscription_within_five_seconds_is_refused_also_when_the_first_has_ended(
    emulator: Emulator, subscribe: Subscribe, clock: ManualClock, refusal: Any
) -> None:
    """The time since the last call counts. A refusal is HTTP 400, which boto3 raises from the call."""
    emulator.split("orders", SHARD)
    list(subscribe())
    clock.advance(4)
    assert refusal(subscribe)[0] == "ResourceInUseException"
    clock.advance(1)
    assert list(subscribe())[-1]["ChildShards"]


def test_deregistering_ends_the_consumers_subscriptions(emulator: Emulator, subscribe: Subscribe) -> None:
    """Deregistering a consumer ends its subscriptions with a ResourceNotFoundException."""
    events = subscribe()
    next(events)
    emulator.deregister_consumer("orders", "one")
    with pytest.raises(EventStreamError, match="ResourceNotFoundException"):
        next(events)


@pytest.mark.parametrize("how", ["by a shorter retention", "on demand"])
def test_a_subscription_continues_at_the_oldest_record(
    emulator: Emulator, client: Any, subscribe: Subscribe, clock: ManualClock, how: str
) -> None:
    """Records that expire between two events are skipped silently."""
    lower_limits(emulator)
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    for i in range(5):
        emulator.put("orders", str(i))
    clock.advance(30 * 3600)
    emulator.put("orders", b"5")
    events = subscribe()
    assert data_of(next(events)) == [b"0", b"1"]
    if how == "on demand":
        emulator.trim("orders", SHARD, 5)
    else:
        client.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    clock.advance(1)
    event = next(events)
    assert (data_of(event), event["MillisBehindLatest"]) == ([b"5"], 0)


def test_a_subscription_may_stay_empty(emulator: Emulator, subscribe: Subscribe, clock: ManualClock) -> None:
    """With `trimmed_start = "empty_pages"` events stay empty, a whole retention behind, once the position has expired."""
    lower_limits(emulator)
    emulator.settings.trimmed_start = "empty_pages"
    for i in range(5):
        emulator.put("orders", str(i))
    events = subscribe()
    assert data_of(next(events)) == [b"0", b"1"]
    emulator.trim("orders", SHARD, 4)
    for _ in range(3):
        clock.advance(5)
        event = next(events)
        assert (data_of(event), event["MillisBehindLatest"]) == ([], 24 * 3_600_000)


def lower_limits(emulator: Emulator) -> None:
    """Limit an event to two records, and events to one per second."""
    emulator.settings.limits = replace(Limits.unlimited(), event_max_records=2, subscribe_bytes_per_s=2)
