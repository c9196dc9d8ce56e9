"""Calls that are refused as by Kinesis: malformed ones, and those whose stream, shard or position does not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

INVALID, NOT_FOUND = "InvalidArgumentException", "ResourceNotFoundException"
MALFORMED, MISTYPED = "ValidationException", "SerializationException"
SHARD, CHILD, NO_SHARD = (f"shardId-{index:012d}" for index in (0, 1, 9))
OF_NOBODY = "under account 000000000000"
START_S = 1_700_000_000
Params = dict[str, Any]
ORDERS: Params = {"StreamName": "orders"}
START: Params = {**ORDERS, "ShardId": SHARD}
RECORD: Params = {**ORDERS, "Data": "", "PartitionKey": "k"}
NOWHERE: Params = {"StreamName": "nowhere"}


def start(kind: str, **more: Any) -> Params:
    return {**START, "ShardIteratorType": kind, **more}


def filtered(kind: str, **more: Any) -> Params:
    return {**ORDERS, "ShardFilter": {"Type": kind, **more}}


def retention(hours: int) -> Params:
    return {"StreamName": "longer", "RetentionPeriodHours": hours}


def split(hash_key: int = 1000, stream: str = "orders", shard: str = SHARD) -> Params:
    return {"StreamName": stream, "ShardToSplit": shard, "NewStartingHashKey": str(hash_key)}


CODES: list[tuple[str, str, Params]] = [
    ("UnknownOperationException", "Nonsense", {}),
    ("UnknownOperationException", "DynamoDB_20120810.GetItem", {}),
    (INVALID, "DeleteStream", {}),
    (INVALID, "ListShards", {**ORDERS, "StreamARN": "{payments}"}),
    (MISTYPED, "ListShards", {"StreamName": 5}),
    (MISTYPED, "ListShards", {"StreamName": ["a"]}),
    (MALFORMED, "CreateStream", {"StreamName": "a b", "ShardCount": 1}),
    (MALFORMED, "CreateStream", {}),
    (INVALID, "ListShards", {"NextToken": "made up"}),
    (NOT_FOUND, "ListShards", {**ORDERS, "StreamCreationTimestamp": START_S - 1}),
    (INVALID, "ListShards", filtered("AFTER_SHARD_ID")),
    (INVALID, "ListShards", filtered("AT_TIMESTAMP")),
    (INVALID, "ListShards", filtered("AT_LATEST", Timestamp=START_S)),
    (INVALID, "ListShards", filtered("AT_LATEST", ShardId=SHARD)),
    (INVALID, "ListShards", filtered("AT_TIMESTAMP", Timestamp=START_S + 1)),
    (INVALID, "GetShardIterator", start("AT_SEQUENCE_NUMBER")),
    (INVALID, "GetShardIterator", start("AT_SEQUENCE_NUMBER", StartingSequenceNumber="12")),
    (MALFORMED, "GetShardIterator", start("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber="twelve")),
    (INVALID, "GetShardIterator", start("LATEST", StartingSequenceNumber="12")),
    (INVALID, "GetShardIterator", start("AT_TIMESTAMP")),
    (MALFORMED, "GetRecords", {}),
    (INVALID, "GetRecords", {"ShardIterator": "AAAA"}),
    (INVALID, "GetRecords", {"ShardIterator": "not base64!"}),
    (INVALID, "GetRecords", {"ShardIterator": "{damaged}"}),
    (INVALID, "GetRecords", {"ShardIterator": "{iterator}", "StreamARN": "{payments}"}),
    (MISTYPED, "GetRecords", {"ShardIterator": "{iterator}", "Limit": True}),
    (MISTYPED, "GetShardIterator", start("AT_TIMESTAMP", Timestamp="now")),
    (MISTYPED, "ListShards", {**ORDERS, "ShardFilter": "AT_LATEST"}),
    (MISTYPED, "PutRecord", {**RECORD, "DryRun": 1}),
    (MALFORMED, "PutRecord", {**ORDERS, "PartitionKey": "k"}),
    (MALFORMED, "PutRecord", {**ORDERS, "Data": ""}),
    (MALFORMED, "PutRecord", {**RECORD, "PartitionKey": ""}),
    (MALFORMED, "PutRecord", {**RECORD, "PartitionKey": "k" * 257}),
    (MISTYPED, "PutRecord", {**RECORD, "Data": "="}),
    (MISTYPED, "PutRecord", {**RECORD, "Data": "eHh4eH?="}),
    (MALFORMED, "PutRecords", ORDERS),
    (MISTYPED, "PutRecords", {**ORDERS, "Records": ["x"]}),
]
WORDS: list[tuple[str, str, Params, str]] = [
    *(
        (NOT_FOUND, action, params, f"Stream nowhere {OF_NOBODY} not found.")
        for action, params in (
            ("DescribeStream", NOWHERE),
            ("DescribeStreamSummary", NOWHERE),
            ("ListShards", NOWHERE),
            ("PutRecord", {**RECORD, **NOWHERE}),
        )
    ),
    (
        NOT_FOUND,
        "DescribeStreamSummary",
        {"StreamARN": "arn:aws:kinesis:us-east-1:111111111111:stream/payments"},
        "Stream payments under account 111111111111 not found.",
    ),
    (
        "ResourceInUseException",
        "CreateStream",
        {**ORDERS, "ShardCount": 1},
        f"Stream orders {OF_NOBODY} already exists.",
    ),
    *(
        (INVALID, f"{change}StreamRetentionPeriod", retention(hours), message)
        for change, hours, message in (
            (
                "Increase",
                24,
                "Requested retention period (24 hours) for stream longer can not be shorter than existing retention "
                "period (48 hours). Use DecreaseRetentionPeriod API.",
            ),
            (
                "Decrease",
                72,
                "Requested retention period (72 hours) for stream longer can not be longer than existing retention "
                "period (48 hours). Use IncreaseRetentionPeriod API.",
            ),
            (
                "Decrease",
                23,
                "Minimum allowed retention period is 24 hours. Requested retention period (23 hours) is too short.",
            ),
            (
                "Increase",
                8761,
                "Maximum allowed retention period is 8760 hours. Requested retention period (8761 hours) is too long.",
            ),
        )
    ),
    *(
        (
            INVALID,
            "ListShards",
            {"NextToken": "{token}", name: value},
            f"NextToken and {name} cannot be provided together.",
        )
        for name, value in {
            **ORDERS,
            "StreamARN": "{payments}",
            "ExclusiveStartShardId": SHARD,
            "StreamCreationTimestamp": START_S,
            "ShardFilter": {"Type": "AT_LATEST"},
        }.items()
    ),
    *(
        (NOT_FOUND, "GetShardIterator", start("LATEST", StreamName="nowhere", ShardId=shard), message)
        for shard, message in (
            ("x-7", f"Shard shardId-000000000007 in stream nowhere {OF_NOBODY} does not exist"),
            ("2147483648", f"Could not find shard 2147483648 in stream nowhere {OF_NOBODY}."),
            ("7x", f"Could not find shard 7x in stream nowhere {OF_NOBODY}."),
        )
    ),
    (INVALID, "ListShards", {}, "Either NextToken or StreamName should be provided."),
    (
        NOT_FOUND,
        "GetShardIterator",
        start("LATEST", ShardId=NO_SHARD),
        f"Shard {NO_SHARD} in stream orders {OF_NOBODY} does not exist",
    ),
    (
        INVALID,
        "GetShardIterator",
        start("AT_TIMESTAMP", Timestamp=START_S + 0.001),
        "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "
        "timestampInMillis: 1700000000001, currentTimestampInMillis: 1700000000000",
    ),
    *(
        (
            INVALID,
            "GetShardIterator",
            start(kind, StreamName="split", ShardId=CHILD, StartingSequenceNumber="{number}"),
            f"Invalid StartingSequenceNumber. It encodes {SHARD}, while it was used in a call to a shard with {CHILD}",
        )
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    ),
    (
        MALFORMED,
        "GetRecords",
        {"ShardIterator": "{iterator}", "Limit": 10_001},
        "1 validation error detected: Value '10001' at 'limit' failed to satisfy constraint: Member must have value less "
        "than or equal to 10000",
    ),
    *(
        (
            INVALID,
            "SplitShard",
            split(hash_key),
            f"NewStartingHashKey {hash_key} used in SplitShard() on shard {SHARD} in stream orders {OF_NOBODY} is not both "
            "greater than one plus the shard's StartingHashKey 0 and less than the shard's EndingHashKey "
            f"{2**128 - 1}.",
        )
        for hash_key in (0, 1, 2**128 - 1)
    ),
    (
        INVALID,
        "SplitShard",
        split(stream="split"),
        f"Shard {SHARD} in stream split {OF_NOBODY} has already been merged or split, and thus is not eligible for merging "
        "or splitting.",
    ),
    (
        NOT_FOUND,
        "SplitShard",
        split(shard=NO_SHARD),
        f"Could not find shard {NO_SHARD} in stream orders {OF_NOBODY}.",
    ),
    *(
        (
            INVALID,
            "MergeShards",
            {"StreamName": "wide", "ShardToMerge": one, "AdjacentShardToMerge": other},
            f"Shards {one} and {other} in stream wide {OF_NOBODY} are not an adjacent pair of shards eligible for merging",
        )
        for one, other in ((SHARD, SHARD), (SHARD, "shardId-000000000002"), ("shardId-000000000001", SHARD))
    ),
    *(
        (
            "LimitExceededException",
            "UpdateShardCount",
            {"StreamName": "wide", "TargetShardCount": target, "ScalingType": "UNIFORM_SCALING"},
            f"UpdateShardCount cannot scale {relation} your current open shard count. Current open shard count: 4 Target "
            f"shard count: {target}",
        )
        for target, relation in ((1, "down below half"), (9, "up over double"))
    ),
]


@pytest.fixture
def known(emulator: Emulator, client: Any, iterator_of: Any, clock: ManualClock) -> dict[str, str]:
    """Make the streams of the table, and return what its calls have to name."""
    assert clock() == START_S
    emulator.create_stream("longer", retention_hours=48)
    emulator.create_stream("wide", shards=4)
    emulator.create_stream("split")
    number = emulator.put("split", b"x").sequence_number
    emulator.split("split", SHARD)
    iterator = iterator_of()
    return {
        "payments": emulator.create_stream("payments"),
        "number": number,
        "token": client.list_shards(StreamName="wide", MaxResults=2)["NextToken"],
        "iterator": iterator,
        "damaged": iterator[:-8] + "AAAAAAA=",
    }


@pytest.mark.parametrize(("code", "action", "params", "message"), [*((*row, None) for row in CODES), *WORDS])
def test_a_call_is_refused(
    emulator: Emulator,
    post: Any,
    known: dict[str, str],
    code: str,
    action: str,
    params: Params,
    message: str | None,
) -> None:
    """The response is a 400 with AWS's code and, where that is known, in AWS's words. Nothing is written."""
    given = {n: value.format(**known) if isinstance(value, str) else value for n, value in params.items()}
    response, text = post(action, json.dumps(given).encode())
    found = json.loads(text)
    assert (response.status, found["__type"]) == (400, code)
    assert message in (None, found["Message" if code == MISTYPED else "message"])
    assert emulator.records("orders") == []


@pytest.mark.parametrize("body", [b"{not json", b"[]"])
def test_a_body_that_is_no_object(post: Any, body: bytes) -> None:
    """It is refused with an error of the protocol, never with a broken connection."""
    response, text = post("ListShards", body)
    assert (response.status, json.loads(text)["__type"]) == (400, MISTYPED)
