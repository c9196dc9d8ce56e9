"""The statuses of a stream, and the calls that are refused in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

Refusal = Callable[..., tuple[str, str]]
SHARD = "shardId-000000000000"
NEW = {"StreamName": "new"}
IN_CREATION = (
    "ResourceInUseException",
    "Stream new under account 000000000000 not ACTIVE or UPDATING, instead in state CREATING",
)
NOT_FOUND = ("ResourceNotFoundException", "Stream new under account 000000000000 not found.")
HALF = str(2**127)


@pytest.fixture
def slow(emulator: Emulator) -> Emulator:
    """Let each status last: creation 10 s, and 2 s more until calls are accepted; changes 5 s; deletion 3 s."""
    settings = emulator.settings
    (
        settings.stream_creating_s,
        settings.stream_settling_s,
        settings.stream_updating_s,
        settings.stream_deleting_s,
    ) = 10, 2, 5, 3
    return emulator


def status(client: Any, name: str = "new") -> str:
    facts = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    listed = {one["StreamName"]: one["StreamStatus"] for one in client.list_streams()["StreamSummaries"]}
    assert listed[name] == facts["StreamStatus"]
    return str(facts["StreamStatus"])


def calls(client: Any) -> dict[Callable[..., Any], dict[str, Any]]:
    """Return the calls that read and write the new stream."""
    record = {"Data": b"1", "PartitionKey": "k"}
    return {
        client.list_shards: NEW,
        client.get_shard_iterator: {**NEW, "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"},
        client.put_record: {**NEW, **record},
        client.put_records: {**NEW, "Records": [record]},
    }


@pytest.mark.usefixtures("slow")
def test_a_new_stream_refuses_calls_until_it_has_settled(
    client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """It is CREATING without shards, then ACTIVE, and accepts calls only some time later. A put does not find it before."""
    client.create_stream(**NEW, ShardCount=2)
    assert status(client) == "CREATING"
    assert client.describe_stream(**NEW)["StreamDescription"]["Shards"] == []
    assert client.describe_stream_summary(**NEW)["StreamDescriptionSummary"]["OpenShardCount"] == 0
    for passed_s in (0, 10):
        clock.advance(passed_s)
        for call, request in calls(client).items():
            is_put = call in (client.put_record, client.put_records)
            assert refusal(call, **request) == (NOT_FOUND if is_put else IN_CREATION)
    assert status(client) == "ACTIVE"
    assert len(client.describe_stream(**NEW)["StreamDescription"]["Shards"]) == 2
    clock.advance(2)
    for call, request in calls(client).items():
        call(**request)


@pytest.mark.usefixtures("slow")
def test_a_stream_that_is_updated_is_read_and_written(
    client: Any, clock: ManualClock, refusal: Refusal, read_all: Any
) -> None:
    """A change makes a stream UPDATING for a while: other changes are refused, reading and writing go on."""
    clock.advance(12)
    arn = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    orders = {"StreamName": "orders"}
    changes: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (client.split_shard, {**orders, "ShardToSplit": SHARD, "NewStartingHashKey": HALF}),
        (client.increase_stream_retention_period, {**orders, "RetentionPeriodHours": 48}),
        (client.update_max_record_size, {"StreamARN": arn, "MaxRecordSizeInKiB": 2048}),
    ]
    for call, request in changes:
        call(**request)
        assert status(client, "orders") == "UPDATING"
        for other, wanted in [
            *changes,
            (client.update_shard_count, {**orders, "TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}),
            (client.register_stream_consumer, {"StreamARN": arn, "ConsumerName": "one"}),
        ]:
            code, message = refusal(other, **wanted)
            assert (code, message.split(",")[-1]) == ("ResourceInUseException", " instead in state UPDATING")
        client.list_shards(StreamName="orders")
        client.put_record(StreamName="orders", Data=b"1", PartitionKey="k")
        read_all(client)
        clock.advance(5)
        assert status(client, "orders") == "ACTIVE"


def test_a_stream_that_is_deleted_in_the_making(client: Any, clock: ManualClock) -> None:
    """A stream that is deleted while it is CREATING shows no shards until it is gone. Another one shows its shards."""
    client.create_stream(**NEW, ShardCount=1)
    for name in (NEW["StreamName"], "orders"):
        client.delete_stream(StreamName=name)
    clock.advance(0.499)
    shown = [
        client.describe_stream(StreamName=name)["StreamDescription"] for name in (NEW["StreamName"], "orders")
    ]
    assert [(one["StreamStatus"], len(one["Shards"])) for one in shown] == [("DELETING", 0), ("DELETING", 1)]
    assert client.describe_stream_summary(**NEW)["StreamDescriptionSummary"]["OpenShardCount"] == 0


@pytest.mark.usefixtures("slow")
def test_a_deleted_stream_is_there_for_a_while(
    client: Any, clock: ManualClock, iterator_of: Callable[..., str], refusal: Refusal
) -> None:
    """It is DELETING and refuses calls. Its name is in use until it is gone, and a second deletion does not prolong that."""
    clock.advance(12)
    iterator = iterator_of()
    client.delete_stream(StreamName="orders")
    assert status(client, "orders") == "DELETING"
    code, message = refusal(client.get_records, ShardIterator=iterator)
    assert (code, message.split(",")[-1]) == ("ResourceInUseException", " instead in state DELETING")
    assert refusal(client.create_stream, StreamName="orders", ShardCount=1)[0] == "ResourceInUseException"
    clock.advance(2)
    client.delete_stream(StreamName="orders")
    clock.advance(1)
    assert refusal(client.describe_stream_summary, StreamName="orders")[0] == "ResourceNotFoundException"
    assert client.list_streams()["StreamNames"] == []
    client.create_stream(StreamName="orders", ShardCount=1)


def test_by_default_each_status_lasts_half_a_second(
    client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """A program that does not wait fails by default, as on AWS. After half a second each status has passed."""
    client.create_stream(**NEW, ShardCount=1)
    for call, request in calls(client).items():
        refusal(call, **request)
    clock.advance(0.5)
    assert status(client) == "ACTIVE"
    split = {**NEW, "ShardToSplit": SHARD, "NewStartingHashKey": HALF}
    client.split_shard(**split)
    assert refusal(client.split_shard, **split)[0] == "ResourceInUseException"
    clock.advance(0.5)
    client.delete_stream(**NEW)
    assert status(client) == "DELETING"
    clock.advance(0.5)
    assert client.list_streams()["StreamNames"] == ["orders"]


def test_methods_take_no_time(emulator: Emulator, client: Any) -> None:
    """What a test sets up by `Emulator` itself is done at once, whatever the times are."""
    emulator.settings.stream_creating_s = emulator.settings.stream_settling_s = (
        emulator.settings.stream_updating_s
    ) = 3600
    emulator.settings.stream_deleting_s = emulator.settings.consumer_creating_s = 3600
    emulator.create_stream("new", 2)
    emulator.split("new", SHARD)
    emulator.register_consumer("new", "one")
    assert status(client) == "ACTIVE"
    client.put_record(**NEW, Data=b"1", PartitionKey="k")
    arn = client.describe_stream_summary(**NEW)["StreamDescriptionSummary"]["StreamARN"]
    [consumer] = client.list_stream_consumers(StreamARN=arn)["Consumers"]
    assert consumer["ConsumerStatus"] == "ACTIVE"
    emulator.deregister_consumer("new", "one")
    assert client.list_stream_consumers(StreamARN=arn)["Consumers"] == []
    emulator.delete_stream("new")
    assert not emulator.has_stream("new")


def test_a_status_is_set_by_hand(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """`set_status` lets an existing stream be CREATING, UPDATING or DELETING for a time."""
    orders = {"StreamName": "orders"}
    put = {**orders, "Data": b"1", "PartitionKey": "k"}
    emulator.set_status("orders", "CREATING", 10, settling_s=2)
    assert status(client, "orders") == "CREATING"
    clock.advance(10)
    assert status(client, "orders") == "ACTIVE"
    assert refusal(client.put_record, **put)[0] == "ResourceNotFoundException"
    clock.advance(2)
    client.put_record(**put)
    emulator.set_status("orders", "UPDATING", 10)
    assert status(client, "orders") == "UPDATING"
    client.put_record(**put)
    clock.advance(10)
    emulator.set_status("orders", "DELETING", 10)
    assert status(client, "orders") == "DELETING"
    clock.advance(10)
    assert client.list_streams()["StreamNames"] == []
