"""Which listings are whole, and which shards an offset may leave out."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_core.model import Listing, Shard, by_id
from kinesis_core.model.shards import HASH_KEYS
from kinesis_core.planning.discovery import Known, find_hole, find_needless

HALF = HASH_KEYS // 2
LAST = HASH_KEYS - 1


def shard(shard_id: str, first: int, last: int, *parents: str, is_closed: bool = False) -> Shard:
    one, two = (*parents, None, None)[:2]
    return Shard(shard_id, one, two, first, last, 0, 9 if is_closed else None)


def known(*started: str, finished: tuple[str, ...] = ()) -> Known:
    return Known({*started, *finished}, set(finished), set(finished), {*started, *finished})


SPLIT_TWICE = by_id(
    [
        shard("a", 0, LAST, is_closed=True),
        shard("b", 0, HALF - 1, "a", is_closed=True),
        shard("c", HALF, LAST, "a"),
        shard("d", 0, 99, "b"),
        shard("e", 100, HALF - 1, "b"),
    ]
)
"""`a` was split into `b` and `c`, and `b` into `d` and `e`."""
MERGED = by_id(
    [
        shard("a", 0, HALF - 1, is_closed=True),
        shard("b", HALF, LAST, is_closed=True),
        shard("c", 0, LAST, "a", "b"),
    ]
)


def without(listing: Listing, *left_out: str) -> Listing:
    return {name: found for name, found in listing.items() if name not in left_out}


def what(listing: Listing, beside: Known | None = None) -> str:
    hole = find_hole(listing, beside or Known())
    return "" if hole is None else hole.what


@pytest.mark.parametrize(
    ("listing", "beside"),
    [
        (SPLIT_TWICE, Known()),
        (SPLIT_TWICE, known("a")),
        (SPLIT_TWICE, known("c", finished=("a", "b"))),
        (SPLIT_TWICE, known("c", "d")),
        (SPLIT_TWICE, known("c", "d", "e", "f")),
        (without(SPLIT_TWICE, "a"), Known()),
        (without(SPLIT_TWICE, "a"), known("b", finished=("a",))),
        (without(SPLIT_TWICE, "a"), known("b", "c")),
        (without(SPLIT_TWICE, "a", "b"), Known()),
        (without(SPLIT_TWICE, "a", "b"), known("c", finished=("b",))),
        (without(SPLIT_TWICE, "a", "b"), known("c", "d")),
        (MERGED, known("a", "b")),
        (without(MERGED, "a"), Known()),
        (without(MERGED, "a"), known("b", finished=("a",))),
        (without(MERGED, "a", "b"), known("c")),
    ],
)
def test_a_truthful_listing(listing: Listing, beside: Known) -> None:
    """A listing is whole with every generation, and without the oldest ones when an offset knows how they were read."""
    assert find_hole(listing, beside) is None


@pytest.mark.parametrize(
    ("listing", "says"),
    [
        ({}, f"no shard has the hash keys 0 to {LAST}"),
        (without(SPLIT_TWICE, "a", "c"), f"no shard has the hash keys {HALF} to {LAST}"),
        (without(SPLIT_TWICE, "c"), f"no child of the closed shard a has the hash keys {HALF} to {LAST}"),
        (without(SPLIT_TWICE, "d", "e"), f"no child of the closed shard b has the hash keys 0 to {HALF - 1}"),
        (without(SPLIT_TWICE, "d"), "no child of the closed shard b has the hash keys 0 to 99"),
        (without(SPLIT_TWICE, "b"), f"no child of the closed shard a has the hash keys 0 to {HALF - 1}"),
        (without(MERGED, "c"), f"no child of the closed shard a has the hash keys 0 to {HALF - 1}"),
    ],
)
def test_a_listing_that_leaves_out_hash_keys(listing: Listing, says: str) -> None:
    """A hole among the open shards, children that are missing or one of them, and a missing middle generation are found."""
    assert what(listing) == says


def test_a_parent_that_looks_open_needs_all_children_as_well() -> None:
    """A shard with a listed child is closed, whatever the listing says of it."""
    listing = {**without(SPLIT_TWICE, "d"), "b": evolve(SPLIT_TWICE["b"], ending_number=None)}
    assert what(listing) == "no child of the closed shard b has the hash keys 0 to 99"


def test_a_shard_that_was_found_closed_needs_children() -> None:
    """A listing in which a shard is open that was read to its end is older than that, unless a user left the shard out."""
    older = {"a": evolve(SPLIT_TWICE["a"], ending_number=None)}
    assert what(older, known(finished=("a",))).startswith("no child of the closed shard a")
    assert what(older, Known({"a"}, finished={"a"})) == ""


def test_the_parents_of_a_young_stream_are_listed() -> None:
    """No shard has left a stream that is younger than the shortest retention, so an unlisted parent is left out."""
    hole = find_hole(without(SPLIT_TWICE, "a"), Known(), is_young=True)
    assert hole is not None
    assert hole.what == "a, the parent of b, is not listed"
    assert hole.lost is None
    assert find_hole(SPLIT_TWICE, Known(), is_young=True) is None


@pytest.mark.parametrize(
    "beside", [known("a"), known(finished=("a",)), known("c", finished=("a",)), known("c")]
)
def test_a_shard_between_the_offset_and_the_listing(beside: Known) -> None:
    """A grandchild whose parent is not listed was born after a shard that was never read, lost or left out."""
    hole = find_hole(without(SPLIT_TWICE, "a", "b"), beside)
    assert hole is not None
    assert hole.lost == "b"
    assert hole.what == "b, the parent of d, is not listed and was never read"


def test_a_merged_shard_needs_both_parents() -> None:
    """A merged shard that is new to the offset needs to know of both parents."""
    hole = find_hole(without(MERGED, "a"), known("b"))
    assert hole is not None
    assert hole.lost == "a"


def test_a_shard_whose_descendants_the_offset_names() -> None:
    """A listing from before the reshards that the offset knows shows shards which look new and were read."""
    older = {"a": evolve(SPLIT_TWICE["a"], ending_number=None)}
    assert (
        what(older, known("d", "e", "c"))
        == "a has no parent and is not in the offset, nor any descendant of it"
    )


@pytest.mark.parametrize(
    ("finished", "started", "listing", "needless"),
    [
        ("a", "bc", SPLIT_TWICE, "a"),
        ("a", "cde", SPLIT_TWICE, "a"),
        ("ab", "cde", SPLIT_TWICE, "ab"),
        ("a", "b", SPLIT_TWICE, ""),
        ("a", "", SPLIT_TWICE, ""),
        ("a", "b", without(SPLIT_TWICE, "a"), ""),
        ("a", "bc", without(SPLIT_TWICE, "a"), "a"),
        ("a", "cd", without(SPLIT_TWICE, "a", "b"), "a"),
        ("ab", "cd", without(SPLIT_TWICE, "a", "b"), "a"),
        ("c", "", SPLIT_TWICE, ""),
        ("ab", "c", MERGED, "ab"),
        ("a", "b", MERGED, ""),
    ],
)
def test_what_an_offset_need_not_name(finished: str, started: str, listing: Listing, needless: str) -> None:
    """A finished shard is not needed once all of its listed children are started: named, or ancestors of named ones."""
    assert find_needless(finished, {*finished, *started}, listing) == set(needless)
