"""The facts of a stream that is there."""

from __future__ import annotations

from attrs import frozen

MIN_RETENTION_HOURS = 24
"""No stream keeps its records for less. Source: https://docs.aws.amazon.com/streams/latest/dev/kinesis-extended-retention.html"""


@frozen
class StreamSummary:
    """What DescribeStreamSummary says, as far as the core needs it."""

    name: str
    arn: str
    status: str
    created_ms: int
    retention_hours: int
    max_record_bytes: int = 1024 * 1024
    """Data and partition key of one record."""
    is_auto_distributed: bool = False
    """
    Whether Kinesis chooses the shard of each record and ignores its keys: RecordDistributionStrategy is AUTO. Only on-demand
    streams report one, and only a botocore of September 2026 or later hands it over.
    """
