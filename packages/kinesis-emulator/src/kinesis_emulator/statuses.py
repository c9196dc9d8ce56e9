"""The status of a stream, and the calls that Kinesis refuses in it."""

from __future__ import annotations

from typing import Literal

from kinesis_emulator.errors import AwsError, stream_not_found
from kinesis_emulator.store import StoredStream

StreamStatus = Literal["CREATING", "ACTIVE", "UPDATING", "DELETING"]

_IN_ANY_STATUS = frozenset(
    {
        "DescribeStream",
        "DescribeStreamSummary",
        "DescribeStreamConsumer",
        "ListStreamConsumers",
        "DeleteStream",
        "ListTagsForStream",
        "ListTagsForResource",
        "GetResourcePolicy",
    }
)
_PUTS = frozenset({"PutRecord", "PutRecords"})
_CHANGES = frozenset(
    {
        "SplitShard",
        "MergeShards",
        "UpdateShardCount",
        "IncreaseStreamRetentionPeriod",
        "DecreaseStreamRetentionPeriod",
        "UpdateMaxRecordSize",
        "UpdateStreamRecordDistributionStrategy",
        "RegisterStreamConsumer",
        "DisableEnhancedMonitoring",
        "EnableEnhancedMonitoring",
        "StartStreamEncryption",
        "StopStreamEncryption",
        "UpdateStreamMode",
        "UpdateStreamWarmThroughput",
    }
)
"""They need an ACTIVE stream. Reading and writing continue while it is UPDATING."""


def status_of(stream: StoredStream, now_ms: int) -> StreamStatus:
    """Return what DescribeStreamSummary says of *stream*."""
    if stream.deleting_ms is not None:
        return "DELETING"
    if stream.passing is not None and _lasts(stream, stream.passing_ms, now_ms):
        return stream.passing
    return "ACTIVE"


def is_creating(stream: StoredStream, now_ms: int) -> bool:
    """Return whether the shards of *stream* are still being made, also if it is DELETING."""
    return stream.passing == "CREATING" and _lasts(stream, stream.passing_ms, now_ms)


def _lasts(stream: StoredStream, for_ms: int, now_ms: int) -> bool:
    """Return whether *for_ms* since the begin of the status are not over. The clock may be set back before the begin."""
    return 0 <= now_ms - stream.since_ms < for_ms


def check_status(stream: StoredStream, action: str, now_ms: int) -> None:
    """
    Refuse *action* if the status of *stream* does not allow it.

    A new stream refuses calls for some time after it is described as ACTIVE. A put does not find it until then.
    """
    if action in _IN_ANY_STATUS:
        return
    status = status_of(stream, now_ms)
    if stream.passing == "CREATING" and _lasts(stream, stream.passing_ms + stream.settling_ms, now_ms):
        status = "CREATING"
        if action in _PUTS:
            raise stream_not_found(stream.name, stream.account_id)
    if status in ("CREATING", "DELETING") or (status == "UPDATING" and action in _CHANGES):
        wanted = "ACTIVE" if action in _CHANGES else "ACTIVE or UPDATING"
        raise AwsError(
            "ResourceInUseException",
            f"Stream {stream.name} under account {stream.account_id} not {wanted}, instead in state {status}",
        )
