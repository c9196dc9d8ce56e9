"""The check of requests by the service's model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinesis_emulator import AwsError
from kinesis_emulator.validation import MODEL, check_request
from tools.emulator_model import load_model, render

NO_LIST = "Start of list found where not expected"
NO_MAP = "Start of structure or map found where not expected."
NUMBER = "class com.amazon.coral.value.json.numbers.TruncatingBigNumber"
LONG_NAME, LONG_KEY = "a" * 129, "k" * 257
PATTERN = "Member must satisfy regular expression pattern: "


def at_least(length: int, of: str = "length") -> str:
    return f"Member must have {of} greater than or equal to {length}"


def at_most(length: int, of: str = "length") -> str:
    return f"Member must have {of} less than or equal to {length}"


def refused(action: str, params: dict[str, Any]) -> AwsError:
    with pytest.raises(AwsError) as caught:
        check_request(action, params)
    return caught.value


def test_the_model_is_that_of_botocore() -> None:
    """`model.json` has the requests of all operations of botocore's model. Write it anew with `python -m tools.emulator_model`."""
    assert json.loads(render(load_model())) == MODEL


VIOLATIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("PutRecords", {"Records": []}, [f"Value '[]' at 'records' {at_least(1)}"]),
    (
        "PutRecords",
        {"Records": [{"Data": "", "PartitionKey": "", "ExplicitHashKey": "x"}], "StreamName": ""},
        [
            f"Value 'x' at 'records.1.member.explicitHashKey' {PATTERN}0|([1-9]\\d{{0,38}})",
            f"Value '' at 'records.1.member.partitionKey' {at_least(1)}",
            f"Value '' at 'streamName' {PATTERN}[a-zA-Z0-9_.-]+",
            f"Value '' at 'streamName' {at_least(1)}",
        ],
    ),
    ("PutRecords", {"Records": [None]}, ["Value null at 'records.1.member' Member must not be null"]),
    (
        "PutRecord",
        {"StreamName": LONG_NAME, "PartitionKey": LONG_KEY, "SequenceNumberForOrdering": "01"},
        [
            "Value null at 'data' Member must not be null",
            f"Value '{LONG_KEY}' at 'partitionKey' {at_most(256)}",
            f"Value '01' at 'sequenceNumberForOrdering' {PATTERN}0|([1-9]\\d{{0,128}})",
            f"Value '{LONG_NAME}' at 'streamName' {at_most(128)}",
        ],
    ),
    (
        "DescribeStream",
        {"StreamName": "arn:aws:kinesis:us-east-1:000000000000:stream/x"},
        [f"Value 'arn:aws:kinesis:us-east-1:000000000000:stream/x' at 'streamName' {PATTERN}[a-zA-Z0-9_.-]+"],
    ),
    (
        "CreateStream",
        {"ShardCount": -(10**20), "StreamModeDetails": {}},
        [
            f"Value '-2147483648' at 'shardCount' {at_least(1, 'value')}",
            "Value null at 'streamModeDetails.streamMode' Member must not be null",
            "Value null at 'streamName' Member must not be null",
        ],
    ),
    (
        "IncreaseStreamRetentionPeriod",
        {"StreamName": "x", "RetentionPeriodHours": 0},
        [f"Value '0' at 'retentionPeriodHours' {at_least(1, 'value')}"],
    ),
    (
        "UpdateShardCount",
        {"StreamName": "x", "TargetShardCount": 10.9, "ScalingType": "x"},
        ["Value 'x' at 'scalingType' Member must satisfy enum value set: [UNIFORM_SCALING]"],
    ),
    (
        "RemoveTagsFromStream",
        {"StreamName": "x", "TagKeys": ["a", LONG_NAME]},
        [
            f"Value '[a, {LONG_NAME}]' at 'tagKeys' Member must satisfy constraint: "
            f"[{at_most(128)}, {at_least(1)}]",
        ],
    ),
    (
        "AddTagsToStream",
        {"StreamName": "x", "Tags": {"": None}},
        [
            f"Value '{{=None}}' at 'tags' Map keys must satisfy constraint: [{at_most(128)}, {at_least(1)}]",
            f"Value '{{=None}}' at 'tags' Map value must satisfy constraint: [{at_most(256)}, {at_least(0)}]",
        ],
    ),
]


@pytest.mark.parametrize(("action", "params", "violations"), VIOLATIONS)
def test_all_violations_are_named(action: str, params: dict[str, Any], violations: list[str]) -> None:
    """One ValidationException names each violated constraint. Those of the stream's name come last."""
    error = refused(action, params)
    head, *found = (
        error.message.replace(" failed to satisfy constraint:", "").replace("detected: ", "; ", 1).split("; ")
    )
    plural = "error" if len(violations) == 1 else "errors"
    assert (error.code, head) == ("ValidationException", f"{len(violations)} validation {plural} ")
    assert found == violations


def test_no_more_than_ten_violations_are_named() -> None:
    """Like AWS's messages."""
    error = refused("PutRecords", {"Records": [{"Data": "", "PartitionKey": ""}] * 501})
    assert error.message.startswith("10 validation errors detected: Value '[com.amazonaws.kinesis.v20131202.")
    assert error.message.count(" at ") == 10


@pytest.mark.parametrize(
    ("action", "member", "value", "message"),
    [
        ("PutRecords", "Records", "x", "Expected list or null"),
        ("PutRecords", "Records", {}, NO_MAP),
        ("PutRecords", "Records", ["x"], "Expected null"),
        ("PutRecords", "Records", [[]], NO_LIST),
        ("AddTagsToStream", "Tags", 1, "Expected map or null"),
        ("AddTagsToStream", "Tags", [], NO_LIST),
        ("AddTagsToStream", "Tags", {"a": 1}, f"{NUMBER} can not be converted to an String"),
        ("ListShards", "StreamName", True, "class java.lang.Boolean can not be converted to an String"),
        ("ListShards", "StreamName", {}, NO_MAP),
        ("ListShards", "MaxResults", "5", "class java.lang.String can not be converted to an Integer"),
        ("ListShards", "MaxResults", float("inf"), f"{NUMBER} can not be converted to an Integer"),
        ("PutRecord", "DryRun", "yes", "'YES' can not be converted to an Boolean"),
        ("PutRecord", "DryRun", 1, f"{NUMBER} can not be converted to an Boolean"),
        (
            "ListShards",
            "StreamCreationTimestamp",
            "now",
            "class java.lang.String can not be converted to milliseconds since epoch",
        ),
        (
            "ListShards",
            "StreamCreationTimestamp",
            float("nan"),
            f"{NUMBER} can not be converted to milliseconds since epoch",
        ),
        ("PutRecord", "Data", 5, f"{NUMBER} can not be converted to a Blob"),
        (
            "PutRecord",
            "Data",
            "23456",
            "'23456' can not be converted to a Blob: Base64 encoded length is expected a multiple of 4 bytes but found: 5",
        ),
        ("PutRecord", "Data", "=+/=", "'=+/=' can not be converted to a Blob: Invalid Base64 character: '='"),
        (
            "PutRecord",
            "Data",
            "ab\ncd123",
            "'ab\ncd123' can not be converted to a Blob: Invalid Base64 character: '\n'",
        ),
        (
            "PutRecord",
            "Data",
            "+/+=",
            "'+/+=' can not be converted to a Blob: Invalid last non-pad Base64 character dectected",
        ),
    ],
)
def test_a_value_of_a_wrong_type(action: str, member: str, value: Any, message: str) -> None:
    """It is a SerializationException in AWS's words, also where a constraint is violated."""
    error = refused(action, {"StreamARN": "no ARN", member: value})
    assert (error.code, error.message) == ("SerializationException", message)


@pytest.mark.parametrize(
    ("action", "params"),
    [
        ("CreateStream", {"StreamName": "x", "Unknown": [1], "ShardCount": None}),
        ("PutRecord", {"Data": "eA==", "PartitionKey": "k" * 256, "DryRun": False}),
        ("PutRecords", {"Records": [{"Data": "eHk=", "Unknown": 1}] * 500}),
        ("ListStreams", {"Limit": 2.5}),
        ("Unknown", {"Anything": 1}),
    ],
)
def test_a_request_that_fits(action: str, params: dict[str, Any]) -> None:
    """Unknown members and null are like absent ones. A number loses its fraction."""
    check_request(action, params)
