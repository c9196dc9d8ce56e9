from __future__ import annotations

import pytest

from kinesis_core.model import Shard, ancestors, by_id, first_gap, first_hole, waits_for, without_children
from kinesis_core.model.shards import HASH_KEYS, parents_first


def shard(shard_id: str, *parents: str, ending: int | None = None) -> Shard:
    one, two = (*parents, None, None)[:2]
    return Shard(shard_id, one, two, 0, 1, 0, ending)


MERGED = by_id([shard("a", ending=9), shard("b", ending=9), shard("c", "a", "b"), shard("d")])


def test_an_open_shard_has_no_ending_number() -> None:
    """A shard is closed as soon as ListShards reports an ending number, 0 included."""
    assert shard("a").is_open
    assert not shard("a", ending=0).is_open


def test_a_listing_is_in_the_order_of_ids() -> None:
    """A listing is in the order of shard ids, whatever the order of ListShards is."""
    assert list(by_id([shard("b"), shard("c"), shard("a")])) == ["a", "b", "c"]


def test_a_merged_shard_waits_for_both_parents() -> None:
    """The child of a merge may be read once both parents are finished."""
    assert waits_for(MERGED["c"], MERGED, []) == ["a", "b"]
    assert waits_for(MERGED["c"], MERGED, ["a"]) == ["b"]
    assert waits_for(MERGED["c"], MERGED, ["a", "b"]) == []


def test_a_child_does_not_wait_for_an_expired_parent() -> None:
    """A parent that Kinesis no longer lists does not hold up its child."""
    listing = {name: MERGED[name] for name in ("b", "c")}
    assert waits_for(listing["c"], listing, []) == ["b"]
    assert waits_for(listing["c"], listing, ["b"]) == []


def test_a_listing_without_a_finished_shards_children_is_stale() -> None:
    """A finished shard that is listed without any child shows that the listing is older than the reshard."""
    assert without_children(["a", "b", "d"], MERGED) == ["d"]
    assert without_children(["gone"], MERGED) == []


def test_ancestors_of_all_generations_are_found_once() -> None:
    """All listed ancestors are found, on both sides of a merge. A shard is not its own ancestor."""
    family = by_id([shard("a"), shard("b"), shard("c", "a", "b"), shard("d", "c"), shard("e", "c")])
    assert ancestors(["d", "e"], family) == {"a", "b", "c"}
    assert ancestors(["d", "c"], family) == {"a", "b", "c"}
    assert ancestors(["unknown"], family) == set()


def test_parents_first_across_a_missing_generation() -> None:
    """A grandparent comes before its grandchild even when the shard between them is left out."""
    family = by_id([shard("z"), shard("m", "z"), shard("a", "m")])
    assert parents_first(["a", "z"], family) == ["z", "a"]


@pytest.mark.parametrize(
    ("spans", "hole"),
    [
        ([(0, HASH_KEYS - 1)], None),
        ([(100, HASH_KEYS - 1), (0, 99)], None),
        ([(0, 99), (50, HASH_KEYS - 1), (60, 70)], None),
        ([], (0, HASH_KEYS - 1)),
        ([(1, HASH_KEYS - 1)], (0, 0)),
        ([(0, 99), (101, HASH_KEYS - 1)], (100, 100)),
        ([(0, HASH_KEYS - 2)], (HASH_KEYS - 1, HASH_KEYS - 1)),
    ],
)
def test_the_first_hole_is_found(spans: list[tuple[int, int]], hole: tuple[int, int] | None) -> None:
    """Overlapping shards leave no hole. A hole may be before, between and after shards, and one key wide."""
    assert first_gap(spans) == hole
    assert first_hole(Shard(f"s{i}", None, None, *span, 0, None) for i, span in enumerate(spans)) == hole
