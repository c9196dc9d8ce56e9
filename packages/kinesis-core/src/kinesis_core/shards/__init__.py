"""
One shard, read politely: within its quota, across gaps, and with iterators that are renewed when they expire.

The planner, the readers of ranges, the publisher of leases, consumer groups and the command line all read shards through here.
`calls` reads pages, `gaps` says how far empty pages are followed, `known` which shards Kinesis knows, `standing` whether a record is left, `stalls` for how long one waits
for a shard that brings nothing, `subscribing` when a failed subscription is followed by another one.
"""

from kinesis_core.shards.calls import CallCounts, Cursor, Look, ShardCalls, is_tip
from kinesis_core.shards.gaps import NO_GAP, STALLED_PAGES, VISIT_PAGES, Gap
from kinesis_core.shards.known import RunAll, find_known, is_known
from kinesis_core.shards.stalls import LONGEST_S, NO_PROGRESS, Stall
from kinesis_core.shards.standing import (
    MARGIN_MS,
    Expired,
    Left,
    Passed,
    Search,
    Seen,
    Standing,
    Unseen,
    await_record,
    certain_from_ms,
    find_record,
    is_expiring,
)
from kinesis_core.shards.subscribing import SubscriptionPolicy

__all__ = [
    "CallCounts",
    "Cursor",
    "Expired",
    "Gap",
    "LONGEST_S",
    "Left",
    "Look",
    "MARGIN_MS",
    "NO_GAP",
    "NO_PROGRESS",
    "Passed",
    "RunAll",
    "STALLED_PAGES",
    "Search",
    "Seen",
    "ShardCalls",
    "Stall",
    "Standing",
    "SubscriptionPolicy",
    "Unseen",
    "VISIT_PAGES",
    "await_record",
    "certain_from_ms",
    "find_known",
    "find_record",
    "is_expiring",
    "is_known",
    "is_tip",
]
