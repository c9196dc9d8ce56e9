"""The status of a stream, and the calls that Kinesis refuses in it."""

from __future__ import annotations

from typing import Literal

from kinesis_emulator.errors import AwsError, stream_not_found
from kinesis_emulator.settings import Settings
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
    }
)
"""They need an ACTIVE stream. Reading and writing continue while it is UPDATING."""


def status_of(stream: StoredStream, settings: Settings, now_ms: int) -> StreamStatus:
    """Return what DescribeStreamSummary says of *stream*."""
    if stream.deleting_ms is not None:
        return "DELETING"
    if _lasts(stream.created_ms, settings.creating_s, now_ms):
        return "CREATING"
    if stream.changed_ms is not None and _lasts(stream.changed_ms, settings.updating_s, now_ms):
        return "UPDATING"
    return "ACTIVE"


def _lasts(since_ms: int, for_s: float, now_ms: int) -> bool:
    """Return whether what began then and lasts so long is not over. The clock may be set back before its begin."""
    return 0 <= now_ms - since_ms < for_s * 1000


def check_status(stream: StoredStream, action: str, settings: Settings, now_ms: int) -> None:
    """
    Refuse *action* if the status of *stream* does not allow it.

    A new stream refuses calls for some time after it is described as ACTIVE. A put does not find it until then.
    """
    if action in _IN_ANY_STATUS:
        return
    status = status_of(stream, settings, now_ms)
    if _lasts(stream.created_ms, settings.creating_s + settings.settling_s, now_ms):
        status = "CREATING"
        if action in _PUTS:
            raise stream_not_found(stream.name, stream.account_id)
    if status in ("CREATING", "DELETING") or (status == "UPDATING" and action in _CHANGES):
        wanted = "ACTIVE" if action in _CHANGES else "ACTIVE or UPDATING"
        raise AwsError(
            "ResourceInUseException",
            f"Stream {stream.name} under account {stream.account_id} not {wanted}, instead in state {status}",
        )
