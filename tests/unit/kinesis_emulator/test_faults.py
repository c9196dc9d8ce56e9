"""Denied permissions, injected faults and counted calls."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import botocore.exceptions
import pytest

from kinesis_emulator import Emulator, Fault, Request

SHARD = "shardId-000000000000"


def test_a_denied_action_fails_as_with_iam(emulator: Emulator, client: Any, refusal: Any) -> None:
    """An action in `deny` is refused. The error names action and stream. Other actions work."""
    emulator.settings.deny.add("ListShards")
    code, message = refusal(client.list_shards, StreamName="orders")
    assert code == "AccessDeniedException"
    assert message == (
        "User: arn:aws:iam::000000000000:user/emulator is not authorized to perform: kinesis:ListShards on resource: "
        "arn:aws:kinesis:us-east-1:000000000000:stream/orders because no identity-based policy allows the "
        "kinesis:ListShards action"
    )
    client.describe_stream_summary(StreamName="orders")


def test_a_fault_replaces_the_response(emulator: Emulator, client: Any, refusal: Any) -> None:
    """The function gets each request and chooses error code, message and status. None has no effect."""
    seen: list[Request] = []

    def fault(request: Request) -> Fault | None:
        seen.append(request)
        return Fault("InternalFailure", "Try again.", status=500) if request.action == "PutRecord" else None

    emulator.settings.fault = fault
    put = {"StreamName": "orders", "Data": b"x", "PartitionKey": "k"}
    assert refusal(client.put_record, **put) == ("InternalFailure", "Try again.")
    client.get_shard_iterator(StreamName="orders", ShardId=SHARD, ShardIteratorType="LATEST")
    assert [(request.action, request.stream_name, request.shard_id) for request in seen] == [
        ("PutRecord", "orders", None),
        ("GetShardIterator", "orders", SHARD),
    ]
    assert (seen[0].region, seen[0].access_key) == ("us-east-1", "key")
    assert emulator.records("orders") == []


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    ("fault", "written"), [(Fault(drop_request=True), 0), (Fault(drop_response=True), 1)]
)
def test_a_connection_is_dropped_before_or_after_the_work(
    emulator: Emulator, client: Any, fault: Fault, written: int, reset: bool
) -> None:
    """A lost request has no effect. After a lost response the record is written, and the client does not know."""
    emulator.settings.fault = lambda _: replace(fault, reset=reset)
    with pytest.raises(botocore.exceptions.ConnectionClosedError, match="onnection"):
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
    assert len(emulator.records("orders")) == written


def test_a_delayed_call_still_does_its_work(emulator: Emulator, client: Any) -> None:
    """A fault with only a delay waits, then responds as usual."""
    emulator.settings.fault = lambda _: Fault(delay_s=0.05)
    began = time.monotonic()
    client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
    assert time.monotonic() - began >= 0.05
    assert len(emulator.records("orders")) == 1


def test_a_broken_hook_is_a_500(
    emulator: Emulator, client: Any, refusal: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An error inside the emulator gives a 500 and is logged."""

    def fault(_: Request) -> Fault | None:
        raise ZeroDivisionError

    emulator.settings.fault = fault
    assert refusal(client.list_shards, StreamName="orders")[0] == "InternalFailure"
    [record] = [r for r in caplog.records if r.name == "kinesis_emulator"]
    assert (record.getMessage(), record.__dict__["context"]) == (
        "call.failed call=ListShards",
        {"call": "ListShards"},
    )
    assert "ZeroDivisionError" in caplog.text


def test_calls_are_counted_by_action_stream_and_shard(
    emulator: Emulator, client: Any, iterator_of: Any, refusal: Any
) -> None:
    """Every HTTP call is counted, also refused ones. A GetRecords counts for its iterator's shard."""
    emulator.create_stream("other")
    client.get_records(ShardIterator=iterator_of())
    client.list_shards(StreamName="other")
    refusal(client.list_shards, StreamName="nowhere")
    assert emulator.calls.count() == 4
    assert emulator.calls.count("GetRecords", "orders", SHARD) == 1
    assert emulator.calls.count(stream="orders") == 2
    assert emulator.calls.by_action() == {"GetShardIterator": 1, "GetRecords": 1, "ListShards": 2}
    emulator.calls.clear()
    assert emulator.calls.count() == 0
