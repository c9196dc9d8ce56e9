"""Ranges: the exact piece of one shard that belongs to a batch, derived from two offsets alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from kinesis_core.model.cuts import After, At, AtTimestamp, EndCut, TrimHorizon, is_before
from kinesis_core.model.offsets import Offset, ShardOffset, StreamOffset
from kinesis_core.model.records import Page
from kinesis_core.model.shards import Listing, generations, known_parents, parents_first
from kinesis_core.model.stream_summary import MIN_RETENTION_HOURS


@frozen
class ShardRange:
    """The records of one shard from *start* up to *end*. Both are fixed: every reading gives the same records."""

    stream: str
    """The stream's name or ARN, as the user gave it."""
    shard_id: str
    start: At | After
    end: EndCut
    retention_hours: int = MIN_RETENTION_HOURS
    """The stream's retention when the range was planned."""

    def skip(self, page: Page) -> int:
        """Return how many user records of the first record of *page*, a page of this range, are not part of it."""
        start = self.start
        if not (isinstance(start, At) and start.skip and page.records):
            return 0
        return start.skip if page.records[0].number == start.number else 0


RangeGroup = tuple[ShardRange, ...]
"""Ranges to be read one after the other: a parent's before its children's. Mostly just one."""


def ranges_between(start: Offset, end: Offset) -> list[ShardRange]:
    """Return what lies between two offsets, by stream and shard: from the first record that *end* names to its cut."""
    return [
        found
        for name, stream in sorted(end.streams.items())
        for found in _ranges_of_stream(name, start.streams.get(name), stream)
    ]


def _ranges_of_stream(name: str, start: StreamOffset | None, end: StreamOffset) -> list[ShardRange]:
    started: Mapping[str, ShardOffset] = start.shards if start else {}
    found = (
        _range(name, shard, started.get(shard), shard_offset)
        for shard, shard_offset in sorted(end.shards.items())
    )
    return [shard_range for shard_range in found if shard_range]


def _range(stream: str, shard_id: str, started: ShardOffset | None, ended: ShardOffset) -> ShardRange | None:
    end = ended.cut
    if ended.first is None or started == ended or isinstance(end, (TrimHorizon, AtTimestamp)):
        return None
    # What `begun` says does not count: LATEST of a replayed first batch has moved on.
    start = At(ended.first, ended.first_skip)
    return ShardRange(stream, shard_id, start, end) if is_before(ended.first, end) else None


def group_ranges(ranges: list[ShardRange], listings: Mapping[str, Listing]) -> list[RangeGroup]:
    """
    Group *ranges* so that related shards follow each other, parents first; unrelated ones stay alone.

    Only a batch without a size limit holds a parent and its child at once. The grouping decides the order of
    reading, never what is read. The work grows with the number of shards, however they are related.
    """
    grouped: list[RangeGroup] = []
    for stream in dict.fromkeys(r.stream for r in ranges):
        members = {r.shard_id: r for r in ranges if r.stream == stream}
        listing = listings.get(stream, {})
        head = _heads(set(members), listing)
        families: dict[str, list[str]] = {}
        for shard_id in parents_first(members, listing):
            families.setdefault(head(shard_id), []).append(shard_id)
        for family in sorted(families.values(), key=min):
            grouped.append(tuple(members[shard_id] for shard_id in family))
    return grouped


def _heads(members: set[str], listing: Listing) -> Callable[[str], str]:
    """Return what tells families of *members* apart: the same one for a shard, its ancestors and its descendants."""
    heads = {shard_id: shard_id for shard_id in members}

    def head(shard_id: str) -> str:
        while heads[shard_id] != shard_id:
            heads[shard_id] = heads[heads[shard_id]]  # a shorter way for the next one
            shard_id = heads[shard_id]
        return shard_id

    nearest: dict[str, str] = {}
    """Of each shard, a member that is the shard itself or an ancestor of it."""
    for shard_id in generations(members, listing):
        parents = known_parents(shard_id, listing, members)
        related = [nearest[parent] for parent in parents if parent in nearest]
        if shard_id in members:
            related.append(shard_id)
        for one in related:
            heads[head(one)] = head(related[0])  # some member descends from all of them
            nearest[shard_id] = one
    return head
