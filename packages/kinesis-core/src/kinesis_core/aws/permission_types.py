"""What the declaration of a call to AWS consists of: the call, its resources, from where and when it is made."""

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
class Call:
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
