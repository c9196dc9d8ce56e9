"""
Whether a listing is complete: which shards ListShards left out, as far as the other shards and an offset show it.

ListShards is eventually consistent, and a listing of several pages is no snapshot. These facts show what it left out:

* The open shards cover all hash keys, and the children of a closed shard cover all of its own.
* A shard outlives its parents, so the listing of a shard has all of its descendants.
* No shard leaves the stream before the shortest retention has passed, so the listing of a young stream has every parent.
* An offset names each shard, or an ancestor or a descendant of it. So a shard that is new to an offset descends from one that the
  offset names. Where the shard between them is not listed, either the listing is stale, or that shard has left the stream and was
  never read.

A complete listing that is some moments old does no harm: new shards are found later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

from attrs import frozen

from kinesis_core.model import Listing, ancestors, first_hole, index_children


@frozen
class Known:
    """What is known of a stream's shards without a listing."""

    named: AbstractSet[str] = frozenset()
    """The shards that an offset names. Empty where reading starts."""
    finished: AbstractSet[str] = frozenset()
    """Those that need no reading. A user may say so of an open shard."""
    closed: AbstractSet[str] = frozenset()
    """Those that were found closed."""
    expected: AbstractSet[str] = frozenset()
    """Those that a complete listing has, unless they have left the stream."""
    from_oldest: bool = False
    """Whether reading starts at old records, so that each parent that is not listed has to be looked up."""


@frozen
class Hole:
    """A part of the stream that a listing left out."""

    what: str
    """A clause for messages."""
    lost: str | None = None
    """The shard that was left out, where it may also have left the stream before it was read."""


def find_hole(listing: Listing, known: Known, *, is_young: bool = False) -> Hole | None:
    """
    Return something that *listing* left out; None where it shows no sign of that.

    *is_young* means that no shard can have left the stream yet. A hole that is certainly stale comes before one that may be a loss.
    """
    keys = first_hole(listing.values())
    if keys is not None:
        return Hole(f"no shard has the hash keys {keys[0]} to {keys[1]}")
    return (
        _without_children(listing, known.closed)
        or (_without_parents(listing) if is_young else None)
        or _without_origin(listing, known.named)
    )


def _without_children(listing: Listing, closed: AbstractSet[str]) -> Hole | None:
    children = index_children(listing)
    for shard_id, shard in listing.items():
        mine = children.get(shard_id, ())
        if shard.is_open and not mine and shard_id not in closed:
            continue
        keys = first_hole(mine, shard.hash_start, shard.hash_end)
        if keys is not None:
            return Hole(f"no child of the closed shard {shard_id} has the hash keys {keys[0]} to {keys[1]}")
    return None


def _without_parents(listing: Listing) -> Hole | None:
    for shard_id, shard in listing.items():
        for parent in shard.parents:
            if parent not in listing:
                return Hole(f"{parent}, the parent of {shard_id}, is not listed")
    return None


def _without_origin(listing: Listing, named: AbstractSet[str]) -> Hole | None:
    """Return a hole between the shards of an offset and a listed one that is new to it."""
    if not named:
        return None
    started = find_started(named, listing)
    origins = started | {parent for s in started if s in listing for parent in listing[s].parents}
    for shard_id, shard in listing.items():
        if shard_id in started:
            continue
        if not shard.parents:
            return Hole(f"{shard_id} has no parent and is not in the offset, nor any descendant of it")
        for parent in shard.parents:
            if parent not in listing and parent not in origins:
                return Hole(f"{parent}, the parent of {shard_id}, is not listed and was never read", parent)
    return None


def find_started(named: Collection[str], listing: Listing) -> set[str]:
    """Return the shards that an offset names, and their listed ancestors: those were read, or skipped by its start."""
    return ancestors(named, listing) | set(named)


def find_needless(finished: Iterable[str], named: Collection[str], listing: Listing) -> set[str]:
    """
    Return those of the *finished* shards that an offset need not name.

    All of their children are started. So a listed shard counts as read, because it is an ancestor of named ones. A shard that
    has left the stream is no longer needed to show where its children come from.
    """
    started, children = find_started(named, listing), index_children(listing)
    return {
        shard_id
        for shard_id in finished
        if (shard_id in children or shard_id not in listing)
        and all(child.shard_id in started for child in children.get(shard_id, ()))
    }
