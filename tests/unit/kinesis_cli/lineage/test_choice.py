"""Which shards are shown."""

from __future__ import annotations

from kinesis_cli.lineage import choose
from kinesis_cli.traffic import Sample
from kinesis_core.model import by_id
from support.lineages import family, name, new_stream, numbers


def sample(records: int) -> Sample:
    return Sample(records, records, 0, 1000)


def test_few_shards_are_all_shown() -> None:
    """A stream with few shards is shown with all of them, open and closed."""
    shards = family().list_shards()
    shown = choose(shards, {}, 11)
    assert set(shown.shards) == set(shards)
    assert (shown.open_left, shown.closed_left) == (0, 0)


def test_the_busiest_are_shown() -> None:
    """Of a stream with many shards the busiest open ones are shown, and the rest is counted."""
    shards = list(by_id(new_stream(9).list_shards()).values())
    shown = choose(shards, {name(3): sample(5), name(7): sample(9)}, 3)
    assert numbers([shard.shard_id for shard in shown.shards]) == [7, 3, 0]
    assert (shown.open_left, shown.closed_left) == (6, 0)


def test_ancestors_of_the_shown_are_shown() -> None:
    """The closed shards that a shown one comes from are shown in addition, if they are as few."""
    shards = family().list_shards()
    shown = choose(shards, {name(9): sample(9)}, 1)
    assert numbers([shard.shard_id for shard in shown.shards]) == [9, 5]
    assert (shown.open_left, shown.closed_left) == (3, 6)
    shown = choose(shards, {name(8): sample(9)}, 1)
    assert numbers([shard.shard_id for shard in shown.shards]) == [8]
    assert (shown.open_left, shown.closed_left) == (3, 7)
