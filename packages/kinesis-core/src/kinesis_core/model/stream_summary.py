"""The facts of an existing stream."""

from __future__ import annotations

import re

from attrs import frozen

MIN_RETENTION_HOURS = 24
"""The shortest retention of any stream. Source: https://docs.aws.amazon.com/streams/latest/dev/kinesis-extended-retention.html"""
STREAM_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,128}")
"""
What a stream may be called.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_CreateStream.html
"""


@frozen
class WarmThroughput:
    """
    What an on-demand stream accepts at once, before Kinesis scales it by its traffic; in MiB/s of writes.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_WarmThroughputObject.html
    """

    current: int
    target: int
    """Where Kinesis is scaling it to. Equal to *current* when it is done."""


@frozen
class StreamSummary:
    """
    The part of DescribeStreamSummary's response that the core needs.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StreamDescriptionSummary.html
    """

    name: str
    arn: str
    status: str
    created_ms: int
    retention_hours: int
    max_record_bytes: int = 1024 * 1024
    """The maximum size of one record: data and partition key together."""
    is_auto_distributed: bool = False
    """
    Whether RecordDistributionStrategy is AUTO: Kinesis chooses the shard of each record and ignores its keys. Only on-demand
    streams report a strategy.
    """
    is_on_demand: bool = False
    """Whether Kinesis chooses the number of shards."""
    is_encrypted: bool = False
    """Whether Kinesis encrypts the records with a key of KMS."""
    key_id: str | None = None
    """That key: its id, ARN or alias."""
    open_shards: int = 0
    """The number of open shards."""
    consumers: int = 0
    """The number of registered consumers, for enhanced fan-out."""
    queues: int | None = None
    """The number of its queues, which count with the consumers. None: the server does not report it."""
    warm: WarmThroughput | None = None
    """Only on-demand streams report one, in an account with MinimumThroughputBillingCommitment."""

    @property
    def mode(self) -> str:
        """The capacity mode, as AWS names it."""
        return "ON_DEMAND" if self.is_on_demand else "PROVISIONED"
