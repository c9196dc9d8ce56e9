"""Shards and their lineage: the parents and children of each shard, and the order in which shards may be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import asdict, frozen

HASH_KEYS = 2**128
"""The number of hash keys: 0 to 2**128 - 1."""
SHARD_RATE_BYTES = 2 * 1024 * 1024
"""
Bytes a second that GetRecords returns of one shard at most, to all its polling consumers together.

Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
"""


@frozen
class Shard:
    """
    One shard as ListShards describes it.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Shard.html
    """

    shard_id: str
    parent_id: str | None
    """The shard that was split into this one and another, or the first of the two that were merged into it."""
    adjacent_parent_id: str | None
    """The second of the two shards that were merged into it. None unless it is the result of a merge."""
    hash_start: int
    """The first hash key of the shard, from 0."""
    hash_end: int
    """The last hash key of the shard, inclusive, up to 2**128 - 1."""
    starting_number: int
    ending_number: int | None
    """None while the shard is open. It is not a record's number and not a bound: only a null iterator ends a shard."""

    @property
    def is_open(self) -> bool:
        return self.ending_number is None

    @property
    def parents(self) -> tuple[str, ...]:
        if self.adjacent_parent_id is None:
            return () if self.parent_id is None else (self.parent_id,)
        return (
            (self.adjacent_parent_id,)
            if self.parent_id is None
            else (self.parent_id, self.adjacent_parent_id)
        )


@frozen
class ListedShard(Shard):
    """A shard and the ids of its listed children: the shards that it was split or merged into."""

    children: tuple[str, ...] = ()


Listing = Mapping[str, Shard]
"""All shards that Kinesis lists, by shard id."""
Children = Mapping[str, Sequence[Shard]]
"""The listed children of each shard that has any. The shard itself may be missing from the listing."""


def by_id(shards: Iterable[Shard]) -> dict[str, Shard]:
    """Return the shards as a listing, in the order of their ids."""
    return {shard.shard_id: shard for shard in sorted(shards, key=lambda s: s.shard_id)}


def with_children(shards: Iterable[Shard]) -> list[ListedShard]:
    """Return the shards with the ids of their children, in the order of their ids."""
    listing = by_id(shards)
    children = index_children(listing)
    return [
        ListedShard(
            **asdict(shard, recurse=False),
            children=tuple(child.shard_id for child in children.get(shard.shard_id, ())),
        )
        for shard in listing.values()
    ]


def first_hole(shards: Iterable[Shard], first: int = 0, last: int = HASH_KEYS - 1) -> tuple[int, int] | None:
    """Return the first range of hash keys within *first* to *last* (all inclusive) that no shard covers, else None."""
    return first_gap(((shard.hash_start, shard.hash_end) for shard in shards), first, last)


def first_gap(
    ranges: Iterable[tuple[int, int]], first: int = 0, last: int = HASH_KEYS - 1
) -> tuple[int, int] | None:
    """Return the first range of hash keys within *first* to *last* (all inclusive) that no range covers, else None."""
    covered = first
    for start, end in sorted(ranges):
        if start > covered:
            return covered, min(start - 1, last)
        covered = max(covered, end + 1)
        if covered > last:
            return None
    return covered, last


def index_children(listing: Listing) -> Children:
    """Return the children of each shard in *listing* that names its parents."""
    children: dict[str, list[Shard]] = {}
    for shard in listing.values():
        for parent in shard.parents:
            children.setdefault(parent, []).append(shard)
    return children


def waits_for(shard: Shard, listing: Listing, finished: Collection[str]) -> list[str]:
    """
    Return the parents that must be finished before *shard* may be read; an empty list when it may be read now.

    A parent that Kinesis no longer lists has expired. It cannot be read, so the child does not wait for it.
    """
    return [parent for parent in shard.parents if parent in listing and parent not in finished]


def without_children(finished: Iterable[str], listing: Listing) -> list[str]:
    """
    Return the finished shards that are listed without any of their children.

    Every closed shard has children, and they stay listed at least as long as it does. So such a listing is stale.
    """
    parents = {parent for shard in listing.values() for parent in shard.parents}
    return [shard_id for shard_id in finished if shard_id in listing and shard_id not in parents]


def ancestors(shard_ids: Iterable[str], listing: Listing) -> set[str]:
    """Return all listed parents, grandparents and so on of *shard_ids*."""
    found: set[str] = set()
    waiting = list(shard_ids)
    while waiting:
        shard = listing.get(waiting.pop())
        parents = shard.parents if shard else ()
        if parents:  # most shards of a stream of thousands have none that is listed
            fresh = [p for p in parents if p in listing and p not in found]
            found.update(fresh)
            waiting.extend(fresh)
    return found


def generations(shard_ids: Collection[str], listing: Listing) -> dict[str, int]:
    """
    Return the generation of *shard_ids* and of all their ancestors, each after its parents.

    The oldest known shards are generation 0. A parent is known when it is listed or is one of *shard_ids*.
    """
    known: dict[str, int] = {}
    entered: set[str] = set()
    waiting = list(shard_ids)
    while waiting:
        shard_id = waiting[-1]
        parents = known_parents(shard_id, listing, shard_ids)
        if shard_id not in entered:
            entered.add(shard_id)
            waiting.extend(parent for parent in parents if parent not in entered)
        else:
            waiting.pop()
            known.setdefault(shard_id, 1 + max((known.get(parent, -1) for parent in parents), default=-1))
    return known


def known_parents(shard_id: str, listing: Listing, wanted: Collection[str]) -> list[str]:
    """Return the parents of a shard that are listed or in *wanted*."""
    shard = listing.get(shard_id)
    return [parent for parent in shard.parents if parent in listing or parent in wanted] if shard else []


def parents_first(shard_ids: Iterable[str], listing: Listing) -> list[str]:
    """Return *shard_ids* with each parent before its children, and otherwise in the order of their ids."""
    wanted = set(shard_ids)
    generation = generations(wanted, listing)
    return sorted(wanted, key=lambda shard_id: (generation[shard_id], shard_id))
