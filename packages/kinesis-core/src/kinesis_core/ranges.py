"""Ranges: the exact piece of one shard that belongs to a batch, derived from two offsets alone."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kinesis_core.cuts import After, At, AtTimestamp, EndCut, TrimHorizon, is_before
from kinesis_core.offsets import Offset, Position, StreamOffset
from kinesis_core.pages import Page
from kinesis_core.shards import Listing, ancestors, parents_first
from kinesis_core.stream_api import MIN_RETENTION_HOURS


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


Chain = tuple[ShardRange, ...]
"""Ranges to be read one after the other: a parent's before its children's. Mostly just one."""


def ranges_between(start: Offset, end: Offset) -> list[ShardRange]:
    """Return what lies between two offsets, by stream and shard: from the first record that *end* names to its cut."""
    return [
        found
        for name, stream in sorted(end.streams.items())
        for found in _ranges_of_stream(name, start.streams.get(name), stream)
    ]


def _ranges_of_stream(name: str, start: StreamOffset | None, end: StreamOffset) -> list[ShardRange]:
    begun: Mapping[str, Position] = start.shards if start else {}
    found = (
        _range(name, shard, begun.get(shard), position) for shard, position in sorted(end.shards.items())
    )
    return [shard_range for shard_range in found if shard_range]


def _range(stream: str, shard_id: str, begun: Position | None, ended: Position) -> ShardRange | None:
    end = ended.cut
    if ended.first is None or begun == ended or isinstance(end, (TrimHorizon, AtTimestamp)):
        return None
    # What `begun` says does not count: LATEST of a replayed first batch has moved on.
    start = At(ended.first, ended.first_skip)
    return ShardRange(stream, shard_id, start, end) if is_before(ended.first, end) else None


def chains(ranges: list[ShardRange], listings: Mapping[str, Listing]) -> list[Chain]:
    """
    Group *ranges* so that related shards follow each other, parents first; unrelated ones stay alone.

    Only a batch without a size limit holds a parent and its child at once. The grouping decides the order of
    reading, never what is read.
    """
    grouped: list[Chain] = []
    for stream in dict.fromkeys(r.stream for r in ranges):
        members = {r.shard_id: r for r in ranges if r.stream == stream}
        listing = listings.get(stream, {})
        for family in _families(set(members), listing):
            grouped.append(tuple(members[shard_id] for shard_id in parents_first(family, listing)))
    return grouped


def _families(members: set[str], listing: Listing) -> list[set[str]]:
    family = {shard_id: {shard_id} for shard_id in sorted(members)}
    for shard_id in family:
        for ancestor in ancestors([shard_id], listing) & members:
            joined = family[shard_id] | family[ancestor]
            family.update(dict.fromkeys(joined, joined))
    return list({id(group): group for group in family.values()}.values())
