"""DryRun: calls that are checked and not carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator, Fault, Limits

STREAM, SHARD = "orders", "shardId-000000000000"
SUCCEEDED = "DryRunOperationException"
FROM_OLDEST = {"ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
BEYOND_ALL_SHARDS = str(2**128)
Refusal = Callable[..., tuple[str, str]]


@pytest.fixture
def calls(emulator: Emulator, client: Any, iterator_of: Any) -> dict[str, Callable[..., Any]]:
    """Return every call that has DryRun, each with valid parameters."""
    record = {"Data": b"data", "PartitionKey": "key"}
    consumer = emulator.register_consumer(STREAM, "reader")
    iterator = iterator_of()
    return {
        "GetShardIterator": lambda **more: client.get_shard_iterator(
            StreamName=STREAM, **FROM_OLDEST, **more
        ),
        "GetRecords": lambda **more: client.get_records(ShardIterator=iterator, **more),
        "PutRecord": lambda **more: client.put_record(StreamName=STREAM, **record, **more),
        "PutRecords": lambda **more: client.put_records(StreamName=STREAM, Records=[record], **more),
        "SubscribeToShard": lambda **more: client.subscribe_to_shard(
            ConsumerARN=consumer, ShardId=SHARD, StartingPosition={"Type": "LATEST"}, **more
        ),
    }


ACTIONS = ("GetShardIterator", "GetRecords", "PutRecord", "PutRecords", "SubscribeToShard")


@pytest.mark.parametrize("action", ACTIONS)
def test_good_request(
    emulator: Emulator, calls: dict[str, Callable[..., Any]], refusal: Refusal, action: str
) -> None:
    """A request that would succeed gets a DryRunOperationException, however often, and has no effect."""
    emulator.settings.limits = Limits(subscribe_calls_per_s=None)
    for _ in range(20):  # more than the shard's limits admit in a second
        assert refusal(calls[action], DryRun=True)[0] == SUCCEEDED
    assert emulator.records(STREAM) == []


@pytest.mark.parametrize("action", ACTIONS)
def test_denial(
    emulator: Emulator, calls: dict[str, Callable[..., Any]], refusal: Refusal, action: str
) -> None:
    """A dry run is denied, and fails by a fault, like the call."""
    emulator.settings.deny = {action}
    assert refusal(calls[action], DryRun=True)[0] == "AccessDeniedException"
    emulator.settings.deny = set()
    emulator.settings.fault = lambda _: Fault("KMSAccessDeniedException")
    assert refusal(calls[action], DryRun=True)[0] == "KMSAccessDeniedException"


def test_bad_requests(client: Any, refusal: Refusal, iterator_of: Any) -> None:
    """A dry run of an invalid request fails like the call."""
    bad_record = {"Data": b"", "PartitionKey": "key", "ExplicitHashKey": BEYOND_ALL_SHARDS}
    refused = [
        refusal(client.put_records, StreamName=STREAM, Records=[bad_record], DryRun=True),
        refusal(client.put_record, StreamName=STREAM, **bad_record, DryRun=True),
        refusal(client.put_record, StreamName="nowhere", Data=b"", PartitionKey="key", DryRun=True),
        refusal(client.get_shard_iterator, StreamName="nowhere", **FROM_OLDEST, DryRun=True),
        refusal(client.get_records, ShardIterator="made up", DryRun=True),
        refusal(client.get_records, ShardIterator=iterator_of(), Limit=10_001, DryRun=True),
    ]
    assert [code for code, _ in refused] == [
        *("InvalidArgumentException",) * 2,
        *("ResourceNotFoundException",) * 2,
        "InvalidArgumentException",
        "ValidationException",
    ]


def test_false(emulator: Emulator, calls: dict[str, Callable[..., Any]]) -> None:
    """With `DryRun` false the call is carried out."""
    calls["PutRecords"](DryRun=False)
    assert len(emulator.records(STREAM)) == 1


def test_older_server(emulator: Emulator, calls: dict[str, Callable[..., Any]]) -> None:
    """On request the emulator ignores DryRun, as servers from before September 2026 do."""
    emulator.settings.knows_dry_run = False
    calls["PutRecords"](DryRun=True)
    assert [record["Data"] for record in calls["GetRecords"](DryRun=True)["Records"]] == [b"data"]
