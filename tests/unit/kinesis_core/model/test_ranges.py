from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Offset,
    Page,
    RangeGroup,
    Record,
    Shard,
    ShardEnd,
    ShardOffset,
    ShardRange,
    StreamOffset,
    TrimHorizon,
    group_ranges,
    ranges_between,
)

A, B, C = "shardId-a", "shardId-b", "shardId-c"


def offset(**shards: ShardOffset) -> Offset:
    return Offset({"orders": StreamOffset(1, {f"shardId-{name}": at for name, at in shards.items()})})


def read_by(*ends: Any) -> list[ShardRange]:
    return [ShardRange("orders", *end) for end in ends]


def shard(shard_id: str, *parents: str) -> Shard:
    one, two = (*parents, None, None)[:2]
    return Shard(shard_id, one, two, 0, 1, 0, None)


def listing_of(**parents: tuple[str, ...]) -> dict[str, Shard]:
    return {name: shard(name, *mine) for name, mine in parents.items()}


def members(grouped: list[RangeGroup]) -> list[list[str]]:
    return [[r.shard_id for r in group] for group in grouped]


@pytest.mark.parametrize(
    "started",
    [
        ShardOffset(TrimHorizon()),
        ShardOffset(AtTimestamp(5)),
        ShardOffset(After(9), 1, first=3),
        ShardOffset(At(10), 1),
        None,
    ],
)
def test_a_batch_lies_between_two_real_records(started: ShardOffset | None) -> None:
    """A range begins at the first record that its end names, whatever the start offset is."""
    start = offset() if started is None else offset(a=started)
    end = offset(a=ShardOffset(After(20), 2, first=10))
    assert ranges_between(start, end) == read_by((A, At(10), After(20)))


def test_a_range_may_begin_inside_an_aggregate() -> None:
    """A range leaves out the number of user records of its first record that its end has."""
    end = offset(a=ShardOffset(After(20), 2, first=10, first_skip=3))
    (found,) = ranges_between(offset(a=ShardOffset(At(10, 3))), end)
    assert found == ShardRange("orders", A, At(10, 3), After(20))
    assert found.skip(Page([Record("10"), Record("20")], 0)) == 3
    assert found.skip(Page([Record("20")], 0)) == 0


def test_a_range_may_end_before_a_record_or_with_its_shard() -> None:
    """Ends before a record and at a shard's end are kept."""
    end = offset(a=ShardOffset(At(20), 2, first=10), b=ShardOffset(ShardEnd(), first=7))
    assert ranges_between(offset(), end) == read_by((A, At(10), At(20)), (B, At(7), ShardEnd()))


@pytest.mark.parametrize(
    "same",
    [
        ShardOffset(TrimHorizon()),
        ShardOffset(AtTimestamp(5)),
        ShardOffset(After(9), 1, first=3),
        ShardOffset(At(9), 1, first=3),
        ShardOffset(ShardEnd(), first=3),
        ShardOffset(ShardEnd()),
    ],
)
def test_no_range_where_nothing_moved(same: ShardOffset) -> None:
    """There is no range between equal offsets, or an offset and its carried-over form."""
    assert ranges_between(offset(a=same), offset(a=same)) == []
    assert ranges_between(offset(a=same), offset(a=same.carried_over())) == []


@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(
            offset(a=ShardOffset(After(9), 1, first=3)),
            offset(a=ShardOffset(ShardEnd())),
            id="an end without a record",
        ),
        pytest.param(
            offset(a=ShardOffset(AtTimestamp(5))),
            offset(a=ShardOffset(ShardEnd())),
            id="an end of an unread shard",
        ),
        pytest.param(offset(), offset(a=ShardOffset(At(10), first=10)), id="an end before its first record"),
        pytest.param(offset(a=ShardOffset(ShardEnd())), offset(), id="a shard that left the offset"),
    ],
)
def test_no_range_without_records(start: Offset, end: Offset) -> None:
    """A shard has no range if its end names no first record, or a first record that is after it."""
    assert ranges_between(start, end) == []


@pytest.mark.parametrize(
    "moved", [ShardOffset(After(30)), ShardOffset(AtTimestamp(5)), ShardOffset(At(30)), None]
)
@pytest.mark.parametrize("end", [ShardOffset(After(20), 1), ShardOffset(At(20), 1)])
def test_a_replayed_first_batch_ignores_where_latest_is_by_now(
    moved: ShardOffset | None, end: ShardOffset
) -> None:
    """
    A shard without a record in batch 0 has none when the batch is replayed.

    LATEST is evaluated again then, and may be after newer records, or know no record any more.
    """
    start = offset() if moved is None else offset(a=moved)
    assert ranges_between(start, offset(a=end)) == []


def test_streams_are_separate() -> None:
    """The same shard id in two streams makes two ranges, in the order of the streams' names."""
    one = StreamOffset(1, {A: ShardOffset(After(2), first=1)})
    two = StreamOffset(1, {A: ShardOffset(After(4), first=3)})
    end = Offset({"returns": two, "orders": one})
    assert ranges_between(Offset({}), end) == [
        ShardRange("orders", A, At(1), After(2)),
        ShardRange("returns", A, At(3), After(4)),
    ]


@pytest.mark.parametrize(
    ("listing", "read", "groups"),
    [
        pytest.param(
            listing_of(z=(), m=("z",), k=("z",), a=("k", "m"), other=()),
            "a k m other z",
            ["z k m a", "other"],
            id="a parent, its children and their child are one group, and unrelated shards stay alone",
        ),
        pytest.param(
            listing_of(z=(), m=("z",), a=("m",)),
            "a z",
            ["z a"],
            id="a grandparent and its grandchild are one group without the shard between them",
        ),
        pytest.param(
            listing_of(a=("z",)), "a z", ["z a"], id="a parent that is not listed comes before its child"
        ),
        pytest.param(
            listing_of(p=(), a=("p",), b=("p",)),
            "a b",
            ["a", "b"],
            id="two children of a parent without a range do not wait for each other",
        ),
    ],
)
def test_related_shards_follow_each_other(listing: dict[str, Shard], read: str, groups: list[str]) -> None:
    """Related shards are one group, parents first. Groups are read concurrently."""
    ranges = [ShardRange("orders", s, At(1), After(2)) for s in read.split()]
    assert members(group_ranges(ranges, {"orders": listing})) == [group.split() for group in groups]


class CountingListing(dict[str, Shard]):
    """A listing that counts its look-ups."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)

    def __getitem__(self, key: str) -> Shard:
        self.looks += 1
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.looks += 1
        return super().__contains__(key)


@pytest.mark.parametrize("every", [1, 3, 100])
def test_grouping_grows_with_the_number_of_shards(every: int) -> None:
    """Grouping looks up each shard a few times, however many generations and shards there are."""

    def looks(rounds: int) -> int:
        listing = CountingListing({"m0": shard("m0")})
        for i in range(rounds):
            listing[f"l{i}"], listing[f"r{i}"] = shard(f"l{i}", f"m{i}"), shard(f"r{i}", f"m{i}")
            listing[f"m{i + 1}"] = shard(f"m{i + 1}", f"l{i}", f"r{i}")
        ranges = [ShardRange("orders", s, At(1), After(2)) for s in sorted(listing)[::every]]
        grouped = group_ranges(ranges, {"orders": listing})
        assert sum(len(group) for group in grouped) == len(ranges)
        return listing.looks

    assert looks(2000) <= 11 * looks(200)


def test_groups_do_not_depend_on_the_order_of_ranges() -> None:
    """Families that are related only through a common child become one group, in whatever order they are found."""
    listing = listing_of(p=(), q=(), c=("p", "q"), d=("c",))
    for order in permutations("pqcd"):
        ranges = [ShardRange("orders", s, At(1), After(2)) for s in order]
        assert members(group_ranges(ranges, {"orders": listing})) == [["p", "q", "c", "d"]]


def test_shards_of_different_streams_are_unrelated() -> None:
    """The lineage of one stream does not apply to shards of the same ids in another one."""
    listing = listing_of(p=(), c=("p",))
    ranges = [ShardRange("orders", "p", At(1), After(2)), ShardRange("returns", "c", At(1), After(2))]
    assert members(group_ranges(ranges, {"orders": listing, "returns": listing})) == [["p"], ["c"]]
