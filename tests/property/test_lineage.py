"""Generated trees of splits and merges: who may be read when, and in which order."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st

from kinesis_core.model import (
    After,
    At,
    Listing,
    Shard,
    ShardRange,
    ancestors,
    by_id,
    group_ranges,
    waits_for,
    without_children,
)
from kinesis_core.model.shards import parents_first
from support.fake_stream import FakeClock, FakeStream

Tree = dict[str, Shard]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Return the shards of a stream that was resharded; ids say nothing about age, and the oldest may be gone."""
    stream = FakeStream(FakeClock(), random.Random(0)).create(draw(st.integers(1, 4)))
    for is_split, index in draw(st.lists(st.tuples(st.booleans(), st.integers(0, 99)), max_size=12)):
        shards = stream.open_shards()
        one = shards[index % len(shards)]
        other = shards[(index + 1) % len(shards)]
        if is_split or one == other:
            stream.split(one)
        else:
            stream.merge(one, other)
    listed = stream.list_shards()
    names = dict(zip(sorted(stream.shards), draw(st.permutations(sorted(stream.shards))), strict=True))
    gone = draw(st.integers(0, sum(not s.is_open for s in listed)))
    kept = sorted(listed, key=lambda s: s.shard_id)[gone:]
    return by_id(_renamed(shard, names) for shard in kept)


def _renamed(shard: Shard, names: dict[str, str]) -> Shard:
    one, two = (*(names[p] for p in shard.parents), None, None)[:2]
    low, high = shard.hash_start, shard.hash_end
    return Shard(names[shard.shard_id], one, two, low, high, shard.starting_number, shard.ending_number)


def read_all(listing: Listing, rng: random.Random) -> list[str]:
    """Return the shards in an order of reading: each time any one that waits for nobody."""
    finished: list[str] = []
    while len(finished) < len(listing):
        ready = [s for s in listing if s not in finished and not waits_for(listing[s], listing, finished)]
        finished.append(rng.choice(ready))
    return finished


@given(trees(), st.randoms(use_true_random=False))
def test_no_child_is_read_before_a_parent(listing: Tree, rng: random.Random) -> None:
    """Whatever is read next of all that may be, every shard gets its turn and each parent comes before its children."""
    order = read_all(listing, rng)
    assert sorted(order) == sorted(listing)
    for shard_id in order:
        for parent in listing[shard_id].parents:
            assert parent not in order or order.index(parent) < order.index(shard_id)


@given(trees(), st.data())
def test_parents_first_is_a_topological_order(listing: Tree, data: st.DataObject) -> None:
    """Of any choice of shards, each stands once and after all of its ancestors, however many generations apart."""
    wanted = data.draw(st.permutations([s for s in listing if data.draw(st.booleans())]))
    order = parents_first(wanted, listing)
    assert sorted(order) == sorted(wanted)
    for index, shard_id in enumerate(order):
        assert not ancestors([shard_id], listing) & set(order[index + 1 :])


@given(trees(), st.data())
def test_groups_are_made_of_relatives(listing: Tree, data: st.DataObject) -> None:
    """Shards share a group when one descends from the other, or both are relatives of a third; parents stand first."""
    members = {s for s in listing if data.draw(st.booleans())}
    families = {s: {s} for s in members}
    for shard_id in members:
        for relative in ancestors([shard_id], listing) & members:
            joined = families[shard_id] | families[relative]
            families.update(dict.fromkeys(joined, joined))
    ranges = [ShardRange("orders", s, At(1), After(2)) for s in data.draw(st.permutations(sorted(members)))]
    grouped = [[r.shard_id for r in group] for group in group_ranges(ranges, {"orders": listing})]
    assert sorted(map(sorted, grouped)) == sorted(
        {tuple(sorted(f)): sorted(f) for f in families.values()}.values()
    )
    for group in grouped:
        for index, shard_id in enumerate(group):
            assert not ancestors([shard_id], listing) & set(group[index + 1 :])


@given(trees())
def test_every_closed_shard_has_children_in_a_complete_listing(listing: Tree) -> None:
    """A complete listing is never taken for an old one; without a closed shard's children it always is."""
    closed = [s.shard_id for s in listing.values() if not s.is_open]
    assert without_children(closed, listing) == []
    for shard_id in closed:
        older = {name: s for name, s in listing.items() if shard_id not in s.parents}
        assert without_children([shard_id], older) == [shard_id]


@given(trees(), st.data())
def test_ancestors_are_closed_under_parenthood(listing: Tree, data: st.DataObject) -> None:
    """The listed parents of ancestors are ancestors, and nobody else is."""
    wanted = [s for s in listing if data.draw(st.booleans())]
    found = ancestors(wanted, listing)
    parents = {p for s in [*wanted, *found] for p in listing[s].parents if p in listing}
    assert found == parents
