"""Shards and their lineage: who was split into whom, and which may be read when."""

from __future__ import annotations

from attrs import frozen


@frozen
class Shard:
    """
    One shard as ListShards describes it.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Shard.html
    """

    shard_id: str
    parent_id: str | None
    """The shard it was split from, or the first of the two that were merged into it."""
    adjacent_parent_id: str | None
    """The second of the two shards that were merged into it."""
    hash_start: int
    hash_end: int
    """Inclusive; the whole space is 0..2**128-1."""
    starting_number: int
    ending_number: int | None
    """Present when closed. Not the number of a record and not a bound: only a null iterator ends a shard."""

    @property
    def is_open(self) -> bool:
        return self.ending_number is None

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(p for p in (self.parent_id, self.adjacent_parent_id) if p is not None)
