"""What each program in this folder prints: a line for every call of streams and consumers, and for what an SDK makes of it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from kinesis_emulator import StoredRecord

STREAM = "orders"
FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"
DATA = (bytes(range(256)), "ü".encode(), b"")
KEY = "é漢𝄞"
HASH_KEYS = 2**128
BY_NAME = (
    "AccessDeniedException",
    "InternalFailureException",
    "KMSAccessDeniedException",
    "KMSDisabledException",
    "KMSInvalidStateException",
    "KMSNotFoundException",
    "KMSOptInRequired",
    "KMSThrottlingException",
    "ProvisionedThroughputExceededException",
)
"""Errors that the emulator makes on demand: a stream of this name refuses all records."""
OTHERS = (
    "DryRunOperationException",
    "ExpiredIteratorException",
    "ExpiredNextTokenException",
    "InvalidArgumentException",
    "LimitExceededException",
    "ResourceInUseException",
    "ResourceNotFoundException",
    "ValidationException",  # a split of an on-demand stream: the SDK for Rust has no type for those of all calls
)
"""Errors with the cause that they have on AWS."""
EVENT_ERROR = "KMSAccessDeniedException"
"""Ends a subscription to the second shard, half a second after its first event."""
Check = Callable[[Any], bool]


def expected(created_ms: range, stored: list[StoredRecord]) -> Mapping[str, Any]:
    """
    Return the detail of each line, or a function that checks it.

    Args:
        created_ms: When the stream and its consumer may have been created.
        stored: The records of the stream.
    """
    records = [
        [
            base64.b64encode(record.data).decode(),
            record.partition_key,
            record.arrived_ms,
            record.sequence_number,
        ]
        for record in stored
    ]
    arrivals = [record.arrived_ms or 0 for record in stored]
    starts = [arrival + more for arrival in arrivals for more in (0, 1)]
    arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{STREAM}"
    return {
        "CreateStream": None,
        "DescribeStreamSummary": lambda found: (
            found[:4] == [arn, "ACTIVE", "PROVISIONED", 2] and found[4] in created_ms
        ),
        "DescribeStream": [[FIRST, str(HASH_KEYS // 2 - 1)], [SECOND, str(HASH_KEYS - 1)]],
        "ListStreams": [STREAM],
        "ListShards": [FIRST, SECOND],
        "DescribeLimits": 2,
        "PutRecord": FIRST,
        "PutRecords": [0, [FIRST, FIRST]],
        "GetShardIterator": "string",
        "GetRecords": records,
        "start AT_TIMESTAMP": [sum(arrival >= start for arrival in arrivals) for start in starts],
        "RegisterStreamConsumer": ["readers", "CREATING"],
        "DescribeStreamConsumer": lambda found: found[0] == "readers" and found[1] in created_ms,
        "ListStreamConsumers": ["readers"],
        "SubscribeToShard": records,
        "exception in SubscribeToShardEventStream": is_error(EVENT_ERROR),
        "ListTagsForStream": [["team", "é"]],
        "AddTagsToStream": [["stage", ""], ["team", "é"]],
        "RemoveTagsFromStream": [["stage", ""]],
        "TagResource": None,
        "UntagResource": None,
        "ListTagsForResource": [["b", "2"]],
        "PutResourcePolicy": None,
        "GetResourcePolicy": '{"Version":"2012-10-17","Statement":[]}',
        "DeleteResourcePolicy": None,
        "IncreaseStreamRetentionPeriod": None,
        "DecreaseStreamRetentionPeriod": None,
        "EnableEnhancedMonitoring": [[], ["IncomingBytes"]],
        "DisableEnhancedMonitoring": [["IncomingBytes"], []],
        "StartStreamEncryption": None,
        "StopStreamEncryption": None,
        "SplitShard": None,
        "MergeShards": None,
        "UpdateShardCount": [2, 4],
        "UpdateMaxRecordSize": None,
        "UpdateStreamMode": None,
        "UpdateStreamWarmThroughput": 100,
        "UpdateStreamRecordDistributionStrategy": None,
        "DescribeAccountSettings": "DISABLED",
        "UpdateAccountSettings": "ENABLED",
        "DeregisterStreamConsumer": None,
        "DeleteStream": None,
        "waiter StreamExists": None,
        "waiter StreamNotExists": None,
        "paginator ListStreams": ["PageA", "PageB", "PageC", STREAM],
        "paginator ListStreamConsumers": ["others", "readers"],
        **{f"exception {name}": is_error(name) for name in sorted((*BY_NAME, *OTHERS))},
    }


def is_error(code: str) -> Check:
    """Return whether the name of a class is that of an SDK for this error. SDKs differ in capital letters, and in the last word."""

    def short(name: str) -> str:
        return name.lower().removesuffix("exception")

    return lambda name: short(name) == short(code)
