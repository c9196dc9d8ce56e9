"""Ranges: the exact part of one shard that belongs to a batch. Two offsets alone decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from kinesis_core.model.cuts import After, At, AtTimestamp, EndCut, TrimHorizon, is_before
from kinesis_core.model.offsets import Offset, StreamOffset
from kinesis_core.model.records import Page
from kinesis_core.model.shard_offsets import ShardOffset
from kinesis_core.model.shards import Listing, generations, known_parents, parents_first
from kinesis_core.model.stream_summary import MIN_RETENTION_HOURS


@frozen
class ShardRange:
    """The records of one shard from *start* up to *end*. Both are fixed, so every read returns the same records."""

    stream: str
    """The stream's name or ARN, as the user gave it."""
    shard_id: str
    start: At | After
    end: EndCut
    retention_hours: int = MIN_RETENTION_HOURS
    """The stream's retention at the time of planning."""
    page: Page | None = field(default=None, eq=False, repr=False)
    """All records of the range, where they are few and the planner has read them. Then a task makes no call for them."""

    def skip(self, page: Page) -> int:
        """Return how many user records of the first record on *page* are before the range. *page* is one of this range."""
        start = self.start
        if not (isinstance(start, At) and start.skip and page.records):
            return 0
        return start.skip if page.records[0].number == start.number else 0


RangeGroup = tuple[ShardRange, ...]
"""Ranges to read one after the other, a parent's before its children's. Usually a single one."""


def ranges_between(start: Offset, end: Offset) -> list[ShardRange]:
    """
    Return the ranges between two offsets, in the order of stream and shard.

    Each one begins at the first record that *end* names for its shard, and ends at the cut of *end*.
    """
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
    # The cut of `started` is not used: on a replay of the first batch, LATEST has moved on.
    start = At(ended.first, ended.first_skip)
    return ShardRange(stream, shard_id, start, end) if is_before(ended.first, end) else None


def group_ranges(ranges: list[ShardRange], listings: Mapping[str, Listing]) -> list[RangeGroup]:
    """
    Put the *ranges* of related shards into one group, parents first. Each other range is its own group.

    Only a batch without a size limit holds both a parent and its child. The groups decide the order of reading, never
    which records are read. The cost is about linear in the number of shards, however they are related.
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
    """
    Return a function from a member to the head of its family, by union-find.

    Two of the *members* have the same head if one descends from the other, or if other members relate them so.
    """
    heads = {shard_id: shard_id for shard_id in members}

    def head(shard_id: str) -> str:
        while heads[shard_id] != shard_id:
            heads[shard_id] = heads[heads[shard_id]]  # path halving: the next search is shorter
            shard_id = heads[shard_id]
        return shard_id

    nearest: dict[str, str] = {}
    """For each shard a member: the shard itself or one of its ancestors."""
    for shard_id in generations(members, listing):
        parents = known_parents(shard_id, listing, members)
        related = [nearest[parent] for parent in parents if parent in nearest]
        if shard_id in members:
            related.append(shard_id)
        for one in related:
            heads[head(one)] = head(related[0])  # some member descends from all of them
            nearest[shard_id] = one
    return head
