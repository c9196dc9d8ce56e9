"""Which shards are shown: all of them where they are few, else the busiest open ones and those that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from kinesis_cli.traffic import Sample
from kinesis_core.model import Shard, ancestors, by_id


@frozen
class Shown:
    """The shards that are shown, and how many are not."""

    shards: tuple[Shard, ...]
    open_left: int
    closed_left: int


def choose(shards: Sequence[Shard], samples: Mapping[str, Sample], most: int | None) -> Shown:
    """
    Return the shards to show: *most* open ones, the busiest first, with their ancestors if these are as few. None: all.

    Among shards that are equally busy, those with the lower hash keys come first.
    """
    if most is None or len(shards) <= most:
        return Shown(tuple(shards), 0, 0)
    open_shards = [shard for shard in shards if shard.is_open]
    busiest = sorted(open_shards, key=lambda shard: (-_load(shard, samples), shard.hash_start))[:most]
    listing = by_id(shards)
    above = ancestors([shard.shard_id for shard in busiest], listing)
    closed = [listing[shard_id] for shard_id in sorted(above)] if len(above) <= most else []
    closed_count = len(shards) - len(open_shards)
    return Shown((*busiest, *closed), len(open_shards) - len(busiest), closed_count - len(closed))


def _load(shard: Shard, samples: Mapping[str, Sample]) -> float:
    sample = samples.get(shard.shard_id)
    return 0.0 if sample is None else sample.load
