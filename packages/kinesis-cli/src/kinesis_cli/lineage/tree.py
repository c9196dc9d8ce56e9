"""The tree of shards: children below the shard that they were split or merged from."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from kinesis_core.model import Shard


@frozen
class Row:
    """A line of the tree."""

    shard: Shard
    branch: str
    """Spaces and lines before the shard's id."""
    also_from: tuple[str, ...]
    """Its other parents. A shard that was merged of two stands below one of them."""


def grow(shards: Iterable[Shard]) -> list[Row]:
    """Return the lines of the tree of *shards*, in the order of the hash keys, with each child below a parent."""
    listing = {shard.shard_id: shard for shard in shards}
    children: dict[str | None, list[Shard]] = {}
    for shard in sorted(listing.values(), key=lambda one: (one.hash_start, one.shard_id)):
        children.setdefault(_above(shard, listing), []).append(shard)
    rows = []
    waiting = [(shard, "", "") for shard in reversed(children.get(None, []))]
    while waiting:  # not a recursion: a lineage may have thousands of generations
        shard, branch, below = waiting.pop()
        above = _above(shard, listing)
        rows.append(
            Row(shard, branch, tuple(parent for parent in shard.parents if above and parent != above))
        )
        own = children.get(shard.shard_id, [])
        waiting += [
            (
                child,
                f"{below}{'└ ' if child is own[-1] else '├ '}",
                f"{below}{'  ' if child is own[-1] else '│ '}",
            )
            for child in reversed(own)
        ]
    return rows


def _above(shard: Shard, listing: dict[str, Shard]) -> str | None:
    """Return the parent that *shard* stands below: the first one that is there."""
    return next((parent for parent in shard.parents if parent in listing), None)
