"""
Looks at one shard from a position: by GetShardIterator and GetRecords, and by more calls only while pages are empty.

The position of a reader names the last record that it has read. The look begins at that record and not after it: if it comes back,
no record after it has expired.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from kinesis_core import Cut
    from kinesis_core.aws import StreamApi
    from kinesis_core.clock import Clock
    from kinesis_core.model import Record
    from kinesis_core.shards import ShardCalls

PERIOD_S, BURST = 0.25, 4
"""The rate of calls on one shard: its quota of 5 calls a second serves other readers too."""
MAX_THROTTLES = 7
"""In a row. The wait doubles up to 5 s."""


@frozen
class Unread:
    """What a shard shows after a position."""

    first: Record | None
    """The first record that was not read."""
    behind_ms: int
    """MillisBehindLatest of the last page, 0 at the end of a closed shard."""
    is_named_left: bool = False
    """Whether the record that the position names is still in the shard."""


def calls_on(api: StreamApi, shard_id: str, clock: Clock) -> ShardCalls:
    """Return the calls on one shard."""
    from kinesis_core.aws import ReadRateLimiter
    from kinesis_core.shards import ShardCalls

    limiter, rng = ReadRateLimiter(PERIOD_S, BURST), random.Random()  # noqa: S311 # jitter, not a secret
    return ShardCalls(api, shard_id, clock, limiter, rng, max_throttles=MAX_THROTTLES)


def find_unread(calls: ShardCalls, cut: Cut) -> Unread:
    """
    Return what follows *cut*. A gap is followed for as many pages as one without progress: the quota of the shard is shared.

    Raises:
        ServiceError: A call failed after its retries, or the shard was throttled repeatedly.
    """
    from kinesis_core import After, At
    from kinesis_core.shards import STALLED_PAGES, Cursor

    named, with_data = None, False
    if isinstance(cut, (At, After)):
        named, with_data = cut.number, isinstance(cut, At) and cut.skip > 0
        start = Cursor(At(named))
    else:
        start = Cursor(cut)
    look = calls.first(start, 1 if named is None else 2, STALLED_PAGES, with_data=with_data)
    records = list(look.records)
    is_left = bool(records) and records[0].number == named
    if is_left and _has_read(cut, records[0]):
        del records[0]
        if not records and look.rest is not None and not look.at_tip:
            look = calls.first(look.rest, 1, STALLED_PAGES, with_data=False)
            records = list(look.records)
    behind_ms = 0 if look.is_shard_end else look.page.millis_behind
    return Unread(records[0] if records else None, behind_ms, is_left)


def _has_read(cut: Cut, record: Record) -> bool:
    """Return whether a reader at *cut* has read all user records of *record*, which the cut names: a plain record is one."""
    from kinesis_core import At
    from kinesis_core.aggregation import count_user_records

    return not isinstance(cut, At) or (cut.skip > 0 and count_user_records(record.data) <= cut.skip)
