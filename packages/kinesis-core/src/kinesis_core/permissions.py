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
    SINK = "sink"
    LEASE_TABLE = "lease table"
    ROLE = "assumed role"


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
        (
            Use(Purpose.SOURCE, _DRIVER, "when a query is loaded and when it starts, once for each stream"),
            Use(Purpose.SINK, _BOTH, "when a query starts, and once for each stream that a worker writes to"),
        ),
        "20 calls a second, per account",
    ),
    Call(
        "kinesis",
        "ListShards",
        (
            Use(Purpose.SOURCE, _DRIVER, "every `shardDiscoveryInterval`, and when a shard ends"),
            Use(Purpose.SINK, _EXECUTORS, "when aggregating: at the start of a task, and after a reshard"),
        ),
        "1,000 calls a second, per stream",
    ),
    Call(
        "kinesis",
        "GetShardIterator",
        (Use(Purpose.SOURCE, _BOTH, "at the start of a shard's range, and for each look ahead"),),
        "5 calls a second, per shard",
    ),
    Call(
        "kinesis",
        "GetRecords",
        (Use(Purpose.SOURCE, _BOTH, "the driver to find where a batch ends, a task to read it"),),
        "5 calls and 2 MiB a second, per shard, shared by all its polling consumers",
    ),
    Call(
        "kinesis",
        "PutRecords",
        (Use(Purpose.SINK, _EXECUTORS, "for up to 500 records and 10 MiB each"),),
        "1,000 records and 1 MiB a second, per shard",
    ),
    Call(
        "dynamodb",
        "DescribeTable",
        (Use(Purpose.LEASE_TABLE, _DRIVER, "when a query starts"),),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "CreateTable",
        (Use(Purpose.LEASE_TABLE, _DRIVER, "when a query starts and the table is not there"),),
        "2,500 calls a second to DynamoDB's control plane, per account",
    ),
    Call(
        "dynamodb",
        "UpdateItem",
        (Use(Purpose.LEASE_TABLE, _DRIVER, "after a micro-batch, for each shard whose position moved"),),
        "1,000 write units a second, per partition of the table; a lease takes one",
    ),
    Call(
        "sts",
        "AssumeRole",
        (Use(Purpose.ROLE, _BOTH, "once in each process, and again before the credentials expire"),),
        "600 calls a second, per account and region",
    ),
)

KEY_USES = (
    KeyUse("Decrypt", Purpose.SOURCE, _BOTH, ("GetRecords",)),
    KeyUse("GenerateDataKey", Purpose.SINK, _EXECUTORS, ("PutRecords",)),
)

_RESOURCES = {"kinesis": "the stream", "dynamodb": "the table", "sts": "the role"}


def needed(service: str, operation: str, code: str = "") -> str:
    """
    Return what to allow on what after *operation* was denied with AWS's error *code*.

    Kinesis uses the key of an encrypted stream in the caller's name, and says so by codes that begin with KMS.
    """
    if code.startswith("KMS"):
        actions = " or ".join(use.iam_action for use in KEY_USES if operation in use.calls)
        return f"{actions or 'kms:Decrypt'} on the stream's KMS key"
    return f"{service}:{operation} on {_RESOURCES.get(service, 'the resource')}"
