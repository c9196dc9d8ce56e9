"""
Declares every call to AWS that these packages make: from where, when, and with which IAM action.

The IAM reference page with its policies, and the advice in errors about a missing permission, are made from these declarations.
"""

from __future__ import annotations

from kinesis_core.aws.dynamodb_calls import DYNAMODB_CALLS
from kinesis_core.aws.permission_types import (
    BOTH,
    CONSUMER,
    DRIVER,
    EXECUTORS,
    KEY,
    ROLE,
    STREAM,
    Call,
    KeyUse,
    Purpose,
    Use,
)

CALLS = (
    Call(
        "kinesis",
        "DescribeStreamSummary",
        (STREAM,),
        (
            Use(
                Purpose.SOURCE,
                DRIVER,
                "when a query is loaded, when it starts, every ten minutes while it runs, and when the first records of a shard "
                "are planned, once for each stream",
            ),
            Use(
                Purpose.SINK,
                BOTH,
                "when a query starts, once for each stream that a worker writes to, and when records arrive in unexpected "
                "shards",
            ),
        ),
        "20 calls a second, per account",
    ),
    Call(
        "kinesis",
        "ListShards",
        (STREAM,),
        (
            Use(Purpose.SOURCE, DRIVER, "at the start, every `shardDiscoveryInterval`, when a shard ends"),
            Use(Purpose.SINK, BOTH, "at the start; in workers and tasks that aggregate; after a reshard"),
        ),
        "1,000 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "GetShardIterator",
        (STREAM,),
        (Use(Purpose.SOURCE, BOTH, "at the start of a query and of a range; to find where a batch ends"),),
        "5 calls a second, per shard",
    ),
    Call(
        "kinesis",
        "GetRecords",
        (STREAM,),
        (
            Use(
                Purpose.SOURCE,
                BOTH,
                "a dry run at the start; on the driver to find where a batch ends; in a task to read a range",
            ),
        ),
        "5 calls and 2 MiB a second, per shard, shared by all its polling consumers",
    ),
    Call(
        "kinesis",
        "RegisterStreamConsumer",
        (STREAM, CONSUMER),
        (Use(Purpose.FAN_OUT, DRIVER, "when a query starts and its consumer is not registered"),),
        "5 calls a second, per account, and 20 consumers, per stream",
    ),
    Call(
        "kinesis",
        "DescribeStreamConsumer",
        (CONSUMER, STREAM),
        (Use(Purpose.FAN_OUT, DRIVER, "at the start, and every second until the consumer is ACTIVE"),),
        "20 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "SubscribeToShard",
        (CONSUMER, STREAM),
        (
            Use(
                Purpose.FAN_OUT,
                BOTH,
                "once when a query starts, to check that it is allowed; in a task at the start of a range, and again after "
                "5 minutes",
            ),
        ),
        "1 call a second, 1 every 5 seconds with success, and 2 MiB a second, per consumer and shard",
    ),
    Call(
        "kinesis",
        "DeregisterStreamConsumer",
        (CONSUMER, STREAM),
        (
            Use(
                Purpose.FAN_OUT,
                DRIVER,
                "at the stop, unless `keepConsumer`, `consumerARN` or `registeredConsumerId` is set",
            ),
        ),
        "5 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "PutRecords",
        (STREAM,),
        (Use(Purpose.SINK, BOTH, "a dry run at the start; in a task, for up to 500 records and 10 MiB"),),
        "1,000 records and 1 MiB a second, per shard",
    ),
    *DYNAMODB_CALLS,
    Call(
        "sts",
        "AssumeRole",
        (ROLE,),
        (Use(Purpose.ROLE, BOTH, "once in each process, and again before the credentials expire"),),
        "600 calls a second, per account and region",
    ),
)

KEY_USES = (
    KeyUse("Decrypt", Purpose.SOURCE, BOTH, ("GetRecords",)),
    KeyUse("Decrypt", Purpose.FAN_OUT, EXECUTORS, ("SubscribeToShard",)),
    KeyUse("GenerateDataKey", Purpose.SINK, EXECUTORS, ("PutRecords",)),
)

_BY_ACTION = {call.iam_action: call for call in CALLS}


def needed(service: str, operation: str, code: str = "") -> str:
    """
    Return which action to allow on which resource, after AWS denied *operation* with the error *code*.

    Codes that begin with KMS are about the key of an encrypted stream, which Kinesis uses in the caller's name.
    """
    if code.startswith("KMS"):
        actions = " or ".join(use.iam_action for use in KEY_USES if operation in use.calls)
        return f"{actions or 'kms:Decrypt'} on {KEY.name}"
    call = _BY_ACTION.get(f"{service}:{operation}")
    return f"{service}:{operation} on {call.resources[0].name if call else 'the resource'}"
