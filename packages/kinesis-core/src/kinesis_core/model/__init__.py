"""What a stream is made of: shards, cuts, ranges, offsets, records and starting positions. Values and pure functions on them."""

from kinesis_core.model.cuts import (
    LAST_EPOCH_MS,
    After,
    At,
    AtTimestamp,
    Cut,
    ShardEnd,
    TrimHorizon,
    is_after,
    is_before,
)
from kinesis_core.model.estimates import Estimate
from kinesis_core.model.offsets import Offset, ShardOffset, StreamOffset
from kinesis_core.model.put_records import MAX_PUT_RECORDS, PutEntry, PutResponse, PutResult
from kinesis_core.model.ranges import RangeGroup, ShardRange, group_ranges, ranges_between
from kinesis_core.model.records import Page, Record, SubscribedPage, drop_before
from kinesis_core.model.shards import (
    Children,
    Listing,
    Shard,
    ancestors,
    by_id,
    first_hole,
    index_children,
    waits_for,
    without_children,
)
from kinesis_core.model.starting_positions import (
    EndingPosition,
    ForeignCheckpoint,
    Latest,
    OneStreamStart,
    PerShard,
    PerStream,
    StartingPosition,
    begins_inside_aggregates,
    position_in,
)
from kinesis_core.model.stream_summary import MIN_RETENTION_HOURS, StreamSummary

__all__ = [
    "After",
    "At",
    "AtTimestamp",
    "Children",
    "Cut",
    "EndingPosition",
    "Estimate",
    "ForeignCheckpoint",
    "LAST_EPOCH_MS",
    "Latest",
    "Listing",
    "MAX_PUT_RECORDS",
    "MIN_RETENTION_HOURS",
    "Offset",
    "OneStreamStart",
    "Page",
    "PerShard",
    "PerStream",
    "PutEntry",
    "PutResponse",
    "PutResult",
    "RangeGroup",
    "Record",
    "Shard",
    "ShardEnd",
    "ShardOffset",
    "ShardRange",
    "StartingPosition",
    "StreamOffset",
    "StreamSummary",
    "SubscribedPage",
    "TrimHorizon",
    "ancestors",
    "begins_inside_aggregates",
    "by_id",
    "drop_before",
    "first_hole",
    "group_ranges",
    "index_children",
    "is_after",
    "is_before",
    "position_in",
    "ranges_between",
    "waits_for",
    "without_children",
]
