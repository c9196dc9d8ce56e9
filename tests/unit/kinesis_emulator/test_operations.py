"""That the emulator has all operations of streams and consumers, and reads all members of their requests."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from kinesis_emulator import Emulator, Request
from kinesis_emulator.operations import OPERATIONS
from kinesis_emulator.validation import MODEL, check_request
from tools.emulator_model import load_model

OTHER_PRODUCTS = {
    "queues": [
        *(
            "AcknowledgeDeadLetterQueueRecords",
            "AcknowledgeQueueRecords",
            "CreateQueue",
            "DeleteQueue",
            "DescribeQueue",
        ),
        *(
            "ListQueues",
            "ReceiveDeadLetterQueueRecords",
            "ReceiveQueueRecords",
            "RestoreDeadLetterQueueRecords",
        ),
        *("UpdateDeadLetterQueueRecordsVisibility", "UpdateQueue", "UpdateQueueRecordsVisibility"),
    ],
    "channels": ["CreateChannel", "DeleteChannel", "DescribeChannel", "ListChannels", "UpdateChannel"],
}
REFUSED = [name for names in OTHER_PRODUCTS.values() for name in names]
UNREAD = {"StreamId": set(OPERATIONS), "ScalingType": {"UpdateShardCount"}, "KeyId": {"StopStreamEncryption"}}
"""
The operations that do not read these. AWS reserves the first for later use. The second has one value, which the check of
requests requires. The encryption stops whatever the third is.
"""

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
CONSUMER = f"{ARN}/consumer/billing:1700000000"
STREAM = {"StreamName": "orders", "StreamARN": ARN}
KEY = {**STREAM, "EncryptionType": "KMS", "KeyId": "alias/mine"}
METRICS = {**STREAM, "ShardLevelMetrics": ["ALL"]}
RECORD = {"Data": base64.b64encode(b"x").decode(), "PartitionKey": "k", "ExplicitHashKey": "1"}
MODE = {"StreamMode": "ON_DEMAND"}
BY_NAME = {"StreamARN": ARN, "ConsumerName": "billing"}
BY_ARN = {"ConsumerARN": CONSUMER}
TAGS = {"Tags": {"team": "tea"}}
CALLS: dict[str, list[dict[str, Any]]] = {
    "AddTagsToStream": [{**STREAM, **TAGS}],
    "CreateStream": [
        {"StreamName": "one", "ShardCount": 1, "MaxRecordSizeInKiB": 2048, **TAGS},
        {
            "StreamName": "two",
            "StreamModeDetails": MODE,
            "WarmThroughputMiBps": 5,
            "RecordDistributionStrategy": "AUTO",
        },
    ],
    "DecreaseStreamRetentionPeriod": [{**STREAM, "RetentionPeriodHours": 24}],
    "DeleteResourcePolicy": [{"ResourceARN": CONSUMER}],
    "DeleteStream": [{**STREAM, "EnforceConsumerDeletion": True}],
    "DeregisterStreamConsumer": [{**BY_NAME, **BY_ARN}],
    "DescribeAccountSettings": [{}],
    "DescribeLimits": [{}],
    "DescribeStream": [{**STREAM, "Limit": 1, "ExclusiveStartShardId": "shardId-000000000000"}],
    "DescribeStreamConsumer": [BY_NAME, BY_ARN],
    "DescribeStreamSummary": [STREAM],
    "DisableEnhancedMonitoring": [METRICS],
    "EnableEnhancedMonitoring": [METRICS],
    "GetRecords": [{"ShardIterator": "{iterator}", "StreamARN": ARN, "Limit": 1, "DryRun": False}],
    "GetResourcePolicy": [{"ResourceARN": ARN}],
    "GetShardIterator": [
        {**STREAM, "ShardId": "0", "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1, "DryRun": False},
        {
            **STREAM,
            "ShardId": "0",
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "StartingSequenceNumber": "{number}",
        },
    ],
    "IncreaseStreamRetentionPeriod": [{**STREAM, "RetentionPeriodHours": 24}],
    "ListShards": [
        {
            **STREAM,
            "MaxResults": 1,
            "StreamCreationTimestamp": 1_700_000_000,
            "ExclusiveStartShardId": "a",
            "ShardFilter": {"Type": "AT_TIMESTAMP", "Timestamp": 1},
        },
        {**STREAM, "ShardFilter": {"Type": "AFTER_SHARD_ID", "ShardId": "shardId-000000000000"}},
        {"NextToken": "{token}"},
    ],
    "ListStreamConsumers": [
        {"StreamARN": ARN, "MaxResults": 1, "StreamCreationTimestamp": 1_700_000_000},
        {"StreamARN": ARN, "NextToken": "{consumers}"},
    ],
    "ListStreams": [{"Limit": 1, "ExclusiveStartStreamName": "a"}, {"NextToken": "a"}],
    "ListTagsForResource": [{"ResourceARN": ARN}, {"ResourceARN": CONSUMER}],
    "ListTagsForStream": [{**STREAM, "ExclusiveStartTagKey": "a", "Limit": 1}],
    "MergeShards": [{**STREAM, "ShardToMerge": "0", "AdjacentShardToMerge": "1"}],
    "PutRecord": [{**STREAM, **RECORD, "SequenceNumberForOrdering": "0", "DryRun": False}],
    "PutRecords": [{**STREAM, "Records": [RECORD], "DryRun": False}],
    "PutResourcePolicy": [{"ResourceARN": ARN, "Policy": "{{}}"}],
    "RegisterStreamConsumer": [{"StreamARN": ARN, "ConsumerName": "other", **TAGS}],
    "RemoveTagsFromStream": [{**STREAM, "TagKeys": ["a"]}],
    "SplitShard": [{**STREAM, "ShardToSplit": "0", "NewStartingHashKey": "100"}],
    "StartStreamEncryption": [KEY],
    "StopStreamEncryption": [KEY],
    "SubscribeToShard": [
        {
            **BY_ARN,
            "ShardId": "0",
            "StartingPosition": {"Type": "AT_TIMESTAMP", "Timestamp": 1},
            "DryRun": False,
        },
        {**BY_ARN, "ShardId": "1", "StartingPosition": {"Type": "LATEST", "SequenceNumber": None}},
    ],
    "TagResource": [{"ResourceARN": ARN, **TAGS}],
    "UntagResource": [{"ResourceARN": ARN, "TagKeys": ["a"]}],
    "UpdateAccountSettings": [{"MinimumThroughputBillingCommitment": {"Status": "ENABLED"}}],
    "UpdateMaxRecordSize": [{"StreamARN": ARN, "MaxRecordSizeInKiB": 2048}],
    "UpdateShardCount": [{**STREAM, "TargetShardCount": 1, "ScalingType": "UNIFORM_SCALING"}],
    "UpdateStreamMode": [{"StreamARN": ARN, "StreamModeDetails": MODE, "WarmThroughputMiBps": 5}],
    "UpdateStreamRecordDistributionStrategy": [
        {"StreamARN": ARN.replace("orders", "elastic"), "RecordDistributionStrategy": "AUTO"}
    ],
    "UpdateStreamWarmThroughput": [
        {
            **{name: value.replace("orders", "elastic") for name, value in STREAM.items()},
            "WarmThroughputMiBps": 5,
        }
    ],
}
"""A call or more of each operation, with all members between them."""


class ReadParams(dict[str, Any]):
    """Parameters that note which of them are read, with the path of each."""

    def __init__(self, params: dict[str, Any], read: set[str], path: str = "") -> None:
        super().__init__({name: _noted(value, read, f"{path}{name}.") for name, value in params.items()})
        self._read, self._path = read, path

    def get(self, name: str, default: Any = None) -> Any:
        self._read.add(self._path + name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self._read.add(self._path + name)
        return super().__getitem__(name)


def _noted(value: Any, read: set[str], path: str) -> Any:
    match value:
        case dict():
            return ReadParams(value, read, path)
        case list():
            return [_noted(item, read, path) for item in value]
    return value


def members_of(shape: str, path: str = "") -> Iterator[str]:
    """Yield the paths of all members of a structure, and of the structures in it."""
    for name, member in MODEL["shapes"][shape].get("members", {}).items():
        yield path + name
        kind = MODEL["shapes"][member]
        yield from members_of(kind.get("member", member), f"{path}{name}.")


@pytest.fixture(autouse=True)
def at_once(emulator: Emulator) -> None:
    """Let no status last, so that each call can follow the one before."""
    settings = emulator.settings
    settings.stream_creating_s = settings.stream_settling_s = settings.stream_updating_s = (
        settings.stream_deleting_s
    ) = 0
    settings.consumer_creating_s = 0


@pytest.fixture
def known(emulator: Emulator, client: Any, iterator_of: Any) -> dict[str, str]:
    """Make what the calls of the table need, and return what they have to name."""
    emulator.scale("orders", 2)
    emulator.create_stream("elastic", strategy="USER_PARTITION_KEY")
    emulator.delete_stream("orders")
    emulator.create_stream("orders", shards=2)
    consumers = [
        client.register_stream_consumer(StreamARN=ARN, ConsumerName=name) for name in ("billing", "more")
    ]
    assert consumers[0]["Consumer"]["ConsumerARN"] == CONSUMER
    client.put_resource_policy(ResourceARN=CONSUMER, Policy="{}")
    return {
        "number": emulator.put("orders", b"x", explicit_hash_key=0).sequence_number,
        "iterator": iterator_of(),
        "token": client.list_shards(StreamName="orders", MaxResults=1)["NextToken"],
        "consumers": client.list_stream_consumers(StreamARN=ARN, MaxResults=1)["NextToken"],
    }


def test_every_operation_is_served_or_of_another_product() -> None:
    """A new operation in botocore's model fails this test until it is built or listed here."""
    assert sorted([*OPERATIONS, *REFUSED]) == sorted(load_model().operation_names)


@pytest.mark.parametrize("action", REFUSED)
def test_operations_of_other_products_say_so(action: str, post: Any) -> None:
    """One sentence says why the operation is not there."""
    response, body = post(action)
    assert response.status == 400
    assert b"queues and channels are other products" in body


@pytest.mark.parametrize("action", sorted(OPERATIONS))
def test_every_member_is_read(action: str, emulator: Emulator, known: dict[str, str]) -> None:
    """An operation reads each member that the model has for its request: it is never dropped in silence."""
    read: set[str] = set()
    for params in CALLS[action]:
        given = {
            name: value.format(**known) if isinstance(value, str) else value for name, value in params.items()
        }
        check_request(action, given)
        OPERATIONS[action](emulator._service, Request(action, ReadParams(given, read), "us-east-1"))
    unread = set(members_of(MODEL["operations"][action])) - read
    assert {path for path in unread if action not in UNREAD.get(path, ())} == set()
