"""
Every call to AWS that these packages make, declared once: who makes it, what for, and the IAM action it needs.

The reference page and its policies, and the advice in errors about a missing permission, come from here.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen


class Place(Enum):
    """Where a call is made from."""

    DRIVER = "driver"
    EXECUTORS = "executors"


class Purpose(Enum):
    """What a set of permissions is for: one policy each."""

    SOURCE = "source"
    FAN_OUT = "enhanced fan-out"
    """Beside those of the source, which plans by polling."""
    SINK = "sink"
    LEASE_TABLE = "lease publishing"
    """Beside those of the source."""
    ROLE = "assumed role"


@frozen
class Resource:
    """What a policy allows an action on."""

    name: str
    """As errors call it."""
    arn: str
    """With capitals in the places of names."""


STREAM = Resource("the stream", "arn:aws:kinesis:REGION:ACCOUNT:stream/STREAM")
CONSUMER = Resource("the consumer", "arn:aws:kinesis:REGION:ACCOUNT:stream/STREAM/consumer/CONSUMER:*")
"""Behind the colon is the moment of its registration, which nobody knows beforehand."""
TABLE = Resource("the table", "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE")
ROLE = Resource("the role", "arn:aws:iam::ACCOUNT:role/ROLE")
KEY = Resource("the stream's KMS key", "arn:aws:kms:REGION:ACCOUNT:key/KEY")


@frozen
class Use:
    """One purpose of a call: where it is made from, and when."""

    purpose: Purpose
    places: tuple[Place, ...]
    when: str


@frozen
class Call:
    """One operation of AWS's API."""

    service: str
    """As botocore and IAM call it."""
    operation: str
    resources: tuple[Resource, ...]
    """What it needs permission on, all of them; the first is what it is about."""
    uses: tuple[Use, ...]
    quota: str
    """AWS's limit, with its unit and what it is counted for."""

    @property
    def iam_action(self) -> str:
        return f"{self.service}:{self.operation}"


@frozen
class KeyUse:
    """What Kinesis does with the KMS key of an encrypted stream on behalf of the caller, who needs the permission."""

    operation: str
    purpose: Purpose
    places: tuple[Place, ...]
    calls: tuple[str, ...]
    """The operations of Kinesis that need it."""

    @property
    def iam_action(self) -> str:
        return f"kms:{self.operation}"


_DRIVER, _EXECUTORS, _BOTH = (Place.DRIVER,), (Place.EXECUTORS,), (Place.DRIVER, Place.EXECUTORS)

CALLS = (
    Call(
        "kinesis",
        "DescribeStreamSummary",
        (STREAM,),
        (
            Use(Purpose.SOURCE, _DRIVER, "when a query is loaded and when it starts, once for each stream"),
            Use(
                Purpose.SINK,
                _BOTH,
                "when a query starts, once for each stream that a worker writes to, and when records come to unexpected "
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
            Use(
                Purpose.SOURCE, _DRIVER, "at the start, every `shardDiscoveryInterval`, and when a shard ends"
            ),
            Use(
                Purpose.SINK, _BOTH, "at the start, in each worker and task that aggregates, after a reshard"
            ),
        ),
        "1,000 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "GetShardIterator",
        (STREAM,),
        (
            Use(
                Purpose.SOURCE,
                _BOTH,
                "at the start of a query and of a shard's range, and for each look ahead",
            ),
        ),
        "5 calls a second, per shard",
    ),
    Call(
        "kinesis",
        "GetRecords",
        (STREAM,),
        (
            Use(
                Purpose.SOURCE,
                _BOTH,
                "a dry run at the start; the driver to find where a batch ends, a task to read it",
            ),
        ),
        "5 calls and 2 MiB a second, per shard, shared by all its polling consumers",
    ),
    Call(
        "kinesis",
        "RegisterStreamConsumer",
        (STREAM, CONSUMER),
        (Use(Purpose.FAN_OUT, _DRIVER, "when a query starts and `consumerName` is not registered"),),
        "5 calls a second, per account, and 20 consumers, per stream",
    ),
    Call(
        "kinesis",
        "DescribeStreamConsumer",
        (CONSUMER, STREAM),
        (
            Use(
                Purpose.FAN_OUT, _DRIVER, "when a query starts, and every second until the consumer is ACTIVE"
            ),
        ),
        "20 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "SubscribeToShard",
        (CONSUMER, STREAM),
        (
            Use(
                Purpose.FAN_OUT,
                _BOTH,
                "once when a query starts, to see that it is allowed; a task at the start of a shard's range, and again "
                "after 5 minutes",
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
                _DRIVER,
                "when a query stops, unless `keepConsumer`, or `consumerARN`, is given",
            ),
        ),
        "5 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "PutRecords",
        (STREAM,),
        (Use(Purpose.SINK, _BOTH, "a dry run at the start; tasks for up to 500 records and 10 MiB each"),),
        "1,000 records and 1 MiB a second, per shard",
    ),
    Call(
        "dynamodb",
        "DescribeTable",
        (TABLE,),
        (Use(Purpose.LEASE_TABLE, _DRIVER, "when a query starts"),),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "CreateTable",
        (TABLE,),
        (Use(Purpose.LEASE_TABLE, _DRIVER, "when a query starts and the table is not there"),),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "UpdateItem",
        (TABLE,),
        (Use(Purpose.LEASE_TABLE, _DRIVER, "after a micro-batch, for each shard whose position moved"),),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
    Call(
        "sts",
        "AssumeRole",
        (ROLE,),
        (Use(Purpose.ROLE, _BOTH, "once in each process, and again before the credentials expire"),),
        "600 calls a second, per account and region",
    ),
)

KEY_USES = (
    KeyUse("Decrypt", Purpose.SOURCE, _BOTH, ("GetRecords",)),
    KeyUse("Decrypt", Purpose.FAN_OUT, _EXECUTORS, ("SubscribeToShard",)),
    KeyUse("GenerateDataKey", Purpose.SINK, _EXECUTORS, ("PutRecords",)),
)

_BY_ACTION = {call.iam_action: call for call in CALLS}


def needed(service: str, operation: str, code: str = "") -> str:
    """
    Return what to allow on what after *operation* was denied with AWS's error *code*.

    Kinesis uses the key of an encrypted stream in the caller's name, and says so by codes that begin with KMS.
    """
    if code.startswith("KMS"):
        actions = " or ".join(use.iam_action for use in KEY_USES if operation in use.calls)
        return f"{actions or 'kms:Decrypt'} on {KEY.name}"
    call = _BY_ACTION.get(f"{service}:{operation}")
    return f"{service}:{operation} on {call.resources[0].name if call else 'the resource'}"
