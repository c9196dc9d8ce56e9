from __future__ import annotations

import random
from itertools import islice

import pytest
from attrs import evolve

from kinesis_core.errors import StreamNotFoundError, UnavailableError
from kinesis_core.producing.router import Router
from kinesis_core.producing.rows import NO_KEY, Rows, random_keys
from kinesis_core.producing.shard_map import MAX_HASH_KEY, ShardMap, hash_of
from support.fake_puts import FakePuts

FIRST, SECOND, LOWER, UPPER = (f"shardId-{number:012d}" for number in range(4))
QUARTER = (MAX_HASH_KEY + 1) // 4


def test_the_hash_of_a_key_is_its_md5() -> None:
    """Kinesis routes by the MD5 of the partition key as a number, unless there is an explicit hash key."""
    assert hash_of("key") == 0x3C6E0B8A9C15224A8228B9A98CA1531D
    assert hash_of("key", "7") == 7


@pytest.mark.parametrize(
    ("hash_key", "shard_id"),
    [(0, FIRST), (2 * QUARTER - 1, FIRST), (2 * QUARTER, SECOND), (MAX_HASH_KEY, SECOND)],
)
def test_ranges_include_both_ends(hash_key: int, shard_id: str) -> None:
    """A shard owns its first and its last hash key."""
    shards = ShardMap.of(FakePuts().create(2).list_shards())
    assert shards.shard_of(hash_key) == shard_id
    assert shards.owns(shard_id, hash_key)
    assert not shards.owns(SECOND if shard_id == FIRST else FIRST, hash_key)


def test_closed_shards_get_nothing() -> None:
    """After a split the children get the keys. The map still has the range of the closed parent."""
    puts = FakePuts().create(2)
    puts.split(FIRST)
    shards = ShardMap.of(puts.list_shards())
    assert shards.open_shards == (LOWER, UPPER, SECOND)
    assert [shards.shard_of(i * QUARTER) for i in range(4)] == [LOWER, UPPER, SECOND, SECOND]
    assert shards.owns(FIRST, 0)


def test_a_stream_without_open_shards_is_an_error() -> None:
    """An empty listing is an error: the stream may be being deleted."""
    with pytest.raises(StreamNotFoundError, match="no open shard"):
        ShardMap.of([])


@pytest.mark.parametrize(
    ("hidden", "hole"),
    [
        ([SECOND], f"{2 * QUARTER} to {MAX_HASH_KEY}"),
        ([LOWER], f"0 to {QUARTER - 1}"),
        ([UPPER], f"{QUARTER} to {2 * QUARTER - 1}"),
        ([LOWER, UPPER], f"0 to {2 * QUARTER - 1}"),
        ([LOWER, UPPER, SECOND], f"0 to {MAX_HASH_KEY}"),
    ],
)
def test_a_listing_with_a_hole_is_an_error(hidden: list[str], hole: str) -> None:
    """Open shards must cover all hash keys. The error names the stream and the first missing hash keys."""
    puts = FakePuts().create(2)
    puts.split(FIRST)
    listed = [shard for shard in puts.list_shards() if shard.shard_id not in hidden]
    with pytest.raises(UnavailableError, match=f"of stream orders for the hash keys {hole}[.]") as caught:
        ShardMap.of(listed, "orders")
    assert caught.value.code == "HashKeysNotListed"


def test_a_reshard_contradicts_no_map_and_another_stream_does() -> None:
    """No reshard changes the hash keys of a shard. The same id with other hash keys is of another stream."""
    puts = FakePuts().create(2)
    before = ShardMap.of(puts.list_shards())
    puts.split(FIRST)
    assert not before.contradicts(ShardMap.of(puts.list_shards()))
    puts.recreate(3)
    assert before.contradicts(ShardMap.of(puts.list_shards()))
    puts.recreate(2)
    assert not before.contradicts(ShardMap.of(puts.list_shards()))


def test_open_shards_are_the_same_with_the_same_hash_keys_only() -> None:
    """Closed shards make no difference between maps. Other hash keys of open shards do."""
    puts = FakePuts().create(2)
    puts.split(FIRST)
    listed = puts.list_shards()
    opened = ShardMap.of([shard for shard in listed if shard.is_open])
    assert ShardMap.of(listed).has_same_open(opened)
    moved = [
        evolve(shard, hash_start=shard.hash_start + (shard.hash_start > 0), hash_end=shard.hash_end + 1)
        if shard.hash_end < MAX_HASH_KEY
        else evolve(shard, hash_start=shard.hash_start + 1)
        for shard in listed
        if shard.is_open
    ]
    assert not ShardMap.of(moved).has_same_open(opened)


def test_rows_are_spread_where_kinesis_chooses() -> None:
    """All queues get the same number of rows, also row by row, whatever the keys are."""
    router = Router(
        "orders", ShardMap.of(FakePuts().create(4).list_shards()), 1.0, random_keys(random.Random(0)), True
    )
    assert [len(rows) for rows in router.group(Rows([b""] * 22, ["hot"] * 22)).values()] == [5, 6, 5, 6]
    queues = [queue for _ in range(8) for queue in router.group(Rows([b""], ["hot"]))]
    assert len(set(queues)) == 4
    assert queues[:4] == queues[4:]


def test_rows_without_a_key_get_one_where_keys_choose() -> None:
    """Rows without a key get a random one. Other rows keep their key."""
    router = Router(
        "orders", ShardMap.of(FakePuts().create(1).list_shards()), 1.0, random_keys(random.Random(0))
    )
    for given in (["a", "b"], ["a", NO_KEY], [NO_KEY, NO_KEY]):
        [rows] = router.group(Rows([b""] * 2, given)).values()
        assert [len(key) for key in rows.keys] == [1 if key else 16 for key in given]
        assert [key for key in rows.keys if len(key) == 1] == [key for key in given if key]


def test_rows_are_grouped_in_their_order() -> None:
    """The rows of each shard keep their order. An explicit hash key applies before the partition key."""
    router = Router(
        "orders", ShardMap.of(FakePuts().create(2).list_shards()), 1.0, random_keys(random.Random(0))
    )
    rows = Rows([b"0", b"1", b"2", b"3"], ["k"] * 4, ["0", str(MAX_HASH_KEY), None, "1"])
    groups = {queue.shard_id: list(group.data) for queue, group in router.group(rows).items()}
    owner = router.shards.shard_of(hash_of("k"))
    expected = {FIRST: [b"0", b"3"], SECOND: [b"1"]}
    expected[owner] = sorted([*expected[owner], b"2"])
    assert groups == expected


def test_remembered_keys_are_bounded_and_forgotten_with_the_map() -> None:
    """The number of remembered keys is bounded, and a new map forgets them."""
    puts = FakePuts().create(1)
    router = Router("orders", ShardMap.of(puts.list_shards()), 1.0, random_keys(random.Random(0)))
    router.group(Rows([b""] * 70_000, [str(number) for number in range(70_000)]))
    assert 0 < len(router.known_keys) <= 65_536
    puts.split(FIRST)
    gone = router.use(ShardMap.of(puts.list_shards()))
    assert [queue.shard_id for queue in gone] == [FIRST]
    assert not router.known_keys
    assert {queue.shard_id for queue in router.group(Rows([b""] * 9, list("abcdefghi")))} == {
        "shardId-000000000001",
        "shardId-000000000002",
    }


def test_random_keys_spread_over_shards() -> None:
    """Random keys are spread evenly over all shards, and repeat, which keeps aggregates small."""
    shards = ShardMap.of(FakePuts().create(8).list_shards())
    keys = list(islice(random_keys(random.Random(1)), 16_384))
    assert len(set(keys)) == 16_384 // 16
    counts = [0] * 8
    for key in keys:
        counts[shards.open_shards.index(shards.shard_of(hash_of(key)))] += 1
    assert all(1_600 < count < 2_500 for count in counts), counts
