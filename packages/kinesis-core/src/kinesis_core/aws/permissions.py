"""
Declares every call to AWS that these packages make: from where, when, and with which IAM action.

The IAM reference page with its policies, and the advice in errors about a missing permission, are made from these declarations.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen


class Location(Enum):
    """Where a call is made from."""

    DRIVER = "driver"
    EXECUTORS = "executors"
    WORKER = "worker"
    """A process of a consumer group."""


class Purpose(Enum):
    """What a set of permissions is for. Each has one policy."""

    SOURCE = "source"
    FAN_OUT = "enhanced fan-out"
    """In addition to those of the source, which plans by polling."""
    SINK = "sink"
    LEASE_TABLE = "lease publishing"
    """In addition to those of the source."""
    KCL_TABLE = "start of a KCL application"
    """In addition to those of the source."""
    GROUP_TABLE = "leases of a consumer group"
    """In addition to those of the source, with which its workers read."""
    ROLE = "assumed role"


@frozen
class Resource:
    """What a policy allows an action on."""

    name: str
    """The name in errors."""
    arn: str
    """With words in capitals where a policy needs names."""


STREAM = Resource("the stream", "arn:aws:kinesis:REGION:ACCOUNT:stream/STREAM")
CONSUMER = Resource("the consumer", "arn:aws:kinesis:REGION:ACCOUNT:stream/STREAM/consumer/CONSUMER:*")
"""The part after the colon is the time of registration, which is not known in advance."""
TABLE = Resource("the table", "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE")
TABLE_INDEX = Resource(
    "the table's index", "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/index/LeaseOwnerToLeaseKeyIndex"
)
ROLE = Resource("the role", "arn:aws:iam::ACCOUNT:role/ROLE")
KEY = Resource("the stream's KMS key", "arn:aws:kms:REGION:ACCOUNT:key/KEY")


@frozen
class Use:
    """One purpose of a call: from where it is made, and when."""

    purpose: Purpose
    locations: tuple[Location, ...]
    when: str


@frozen
class ApiCall:
    """One operation of AWS's API, and what it needs."""

    service: str
    """The name of the service in botocore and IAM."""
    operation: str
    resources: tuple[Resource, ...]
    """Everything that it needs permission on. Errors name the first one."""
    uses: tuple[Use, ...]
    quota: str
    """AWS's limit, with its unit and what it applies to."""

    @property
    def iam_action(self) -> str:
        return f"{self.service}:{self.operation}"


@frozen
class KeyUse:
    """One use of the KMS key of an encrypted stream. Kinesis uses the key in the caller's name, so the caller needs the permission."""

    operation: str
    purpose: Purpose
    locations: tuple[Location, ...]
    calls: tuple[str, ...]
    """The operations of Kinesis that use the key."""

    @property
    def iam_action(self) -> str:
        return f"kms:{self.operation}"


DRIVER = (Location.DRIVER,)
EXECUTORS = (Location.EXECUTORS,)
BOTH = (Location.DRIVER, Location.EXECUTORS)
WORKER = (Location.WORKER,)


DYNAMODB_CALLS = (
    ApiCall(
        "dynamodb",
        "DescribeTable",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "when a query starts"),
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "when a worker starts, and each second until table and index are active",
            ),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    ApiCall(
        "dynamodb",
        "CreateTable",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "when a query starts and the table does not exist"),
            Use(Purpose.GROUP_TABLE, WORKER, "when a worker starts and the table does not exist"),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    ApiCall(
        "dynamodb",
        "UpdateTable",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "when a worker starts with `add_index=True`, and the table lacks the index",
            ),
        ),
        "2,500 calls a second to DynamoDB's control plane, per account, and one new index at a time, per table",
    ),
    ApiCall(
        "dynamodb",
        "Scan",
        (TABLE,),
        (
            Use(Purpose.KCL_TABLE, DRIVER, "when a new query starts at a `kclApplication`, once"),
            Use(Purpose.GROUP_TABLE, WORKER, "when a worker starts; regularly, to see all leases"),
        ),
        "3,000 read units a second, per partition of the table; 4 KB take one",
    ),
    ApiCall(
        "dynamodb",
        "GetItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for a lease that was assigned, for leases of a shard's parents, and after a write without a response; "
                "regularly, for the leader's lock and the state of the group",
            ),
        ),
        "3,000 read units a second, per partition of the table; an item takes one",
    ),
    ApiCall(
        "dynamodb",
        "Query",
        (TABLE_INDEX,),
        (Use(Purpose.GROUP_TABLE, WORKER, "regularly, for the leases that are assigned to the worker"),),
        "3,000 read units a second, per partition of the index; 8 KB take one",
    ),
    ApiCall(
        "dynamodb",
        "PutItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for each new shard, and for the items that coordinate the workers",
            ),
        ),
        "1,000 write units a second, per partition of the table; an item takes one, and one more in the index",
    ),
    ApiCall(
        "dynamodb",
        "UpdateItem",
        (TABLE,),
        (
            Use(Purpose.LEASE_TABLE, DRIVER, "after a micro-batch, for each shard whose offset changed"),
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "to assign, take, renew, commit and release leases, and for the items that coordinate the workers",
            ),
        ),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
    ApiCall(
        "dynamodb",
        "DeleteItem",
        (TABLE,),
        (
            Use(
                Purpose.GROUP_TABLE,
                WORKER,
                "for a shard that was read to its end, once its children are being read; when a worker ends, for its report and its lock",
            ),
        ),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
)


CALLS = (
    ApiCall(
        "kinesis",
        "DescribeStreamSummary",
        (STREAM,),
        (
            Use(
                Purpose.SOURCE,
                DRIVER,
                "once for each stream: when a query is loaded, when it starts, every ten minutes, and when the first records of "
                "a shard are planned",
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
    ApiCall(
        "kinesis",
        "ListShards",
        (STREAM,),
        (
            Use(Purpose.SOURCE, DRIVER, "at the start, every `shardDiscoveryInterval`, when a shard ends"),
            Use(Purpose.SINK, BOTH, "at the start; in workers and tasks that aggregate; after a reshard"),
        ),
        "1,000 calls a second, per stream",
    ),
    ApiCall(
        "kinesis",
        "GetShardIterator",
        (STREAM,),
        (Use(Purpose.SOURCE, BOTH, "at the start of a query and of a range; to find where a batch ends"),),
        "5 calls a second, per shard",
    ),
    ApiCall(
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
    ApiCall(
        "kinesis",
        "RegisterStreamConsumer",
        (STREAM, CONSUMER),
        (Use(Purpose.FAN_OUT, DRIVER, "when a query starts and its consumer is not registered"),),
        "5 calls a second, per account, and 20 consumers, per stream",
    ),
    ApiCall(
        "kinesis",
        "TagResource",
        (CONSUMER,),
        (Use(Purpose.FAN_OUT, DRIVER, "with `consumerTags`, as a part of RegisterStreamConsumer"),),
        "the call is not made: AWS checks the permission when the consumer is registered",
    ),
    ApiCall(
        "kinesis",
        "DescribeStreamConsumer",
        (CONSUMER, STREAM),
        (Use(Purpose.FAN_OUT, DRIVER, "at the start, and every second until the consumer is ACTIVE"),),
        "20 calls a second, per stream",
    ),
    ApiCall(
        "kinesis",
        "SubscribeToShard",
        (CONSUMER, STREAM),
        (
            Use(
                Purpose.FAN_OUT,
                BOTH,
                "once when a query starts, to check that it is allowed; in a task at the start of a range, and again after "
                "5 minutes; with `wakeConsumer` on the driver for each shard, every 5 minutes",
            ),
        ),
        "1 call a second, 1 every 5 seconds with success, and 2 MiB a second, per consumer and shard",
    ),
    ApiCall(
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
    ApiCall(
        "kinesis",
        "PutRecords",
        (STREAM,),
        (Use(Purpose.SINK, BOTH, "a dry run at the start; in a task, for up to 500 records and 10 MiB"),),
        "1,000 records and 1 MiB a second, per shard",
    ),
    *DYNAMODB_CALLS,
    ApiCall(
        "sts",
        "AssumeRole",
        (ROLE,),
        (Use(Purpose.ROLE, BOTH, "once in each process, and again before the credentials expire"),),
        "600 calls a second, per account and region",
    ),
)

KEY_USES = (
    KeyUse("Decrypt", Purpose.SOURCE, BOTH, ("GetRecords",)),
    KeyUse("Decrypt", Purpose.FAN_OUT, BOTH, ("SubscribeToShard",)),
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
