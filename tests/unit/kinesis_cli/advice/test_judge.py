"""What helps a stream, judged by samples of its shards."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_cli.advice.judge import (
    Fine,
    HotKey,
    LeftToKinesis,
    Merge,
    Recommendation,
    Scale,
    Split,
    SplitInTheMiddle,
    TooLittle,
    WarmUp,
    advise,
)
from kinesis_cli.traffic import Sample
from kinesis_core.model import HASH_KEYS, WarmThroughput
from support.lineages import name
from support.sampled import by_shard, even_shards, open_shards, sample, summary

ZERO, ONE, TWO, THREE = (name(number) for number in range(4))
LOW = [(1000, 4500), (2000, 3000), (3000, 1500)]
"""Traffic at three hash keys near the start of all of them, at 900 records/s."""

USED = 900 / 1000 + 1 / 1000
"""Load of a shard with 900 records a second, and of one with 1."""


def judged(
    *samples: Sample | None, is_on_demand: bool = False, is_auto: bool = False
) -> list[Recommendation]:
    shards = even_shards(len(samples))
    return advise(summary(is_on_demand=is_on_demand, is_auto=is_auto), shards, by_shard(shards, *samples))


def test_a_hot_shard_is_split_where_its_traffic_is() -> None:
    """A split halves the sampled traffic, not the hash keys."""
    assert judged(sample(900, {"a": 10}, LOW), sample(300)) == [Split(ZERO, 0.9, 2000, 0.5)]


def test_bytes_count_where_they_are_scarcer() -> None:
    """A shard that runs out of bytes is split by bytes."""
    hot = sample(90, {"a": 10}, [(1000, 400), (2000, 100), (3000, 400)], record_bytes=11_000)
    (split,) = judged(hot, sample(300))
    assert split == Split(ZERO, 90 * 11_000 / 2**20, 2000, 4 / 9)


def test_a_hot_key() -> None:
    """A key with most of a hot shard's traffic is named, and the shard is not split for it."""
    hot = sample(950, {"big": 9000, "a": 500}, [(10, 250), (20, 9000), (30, 250)])
    assert judged(hot, sample(300)) == [HotKey(ZERO, 0.95, "big", 9000 / 9500, False)]


def test_a_hot_key_beside_other_traffic() -> None:
    """A shard with a hot key and much other traffic is split, and the key is named."""
    hot = sample(1000, {"big": 6000, "a": 100}, [(10, 4000), (20, 6000)])
    key, split = judged(hot, sample(300))
    assert key == HotKey(ZERO, 1.0, "big", 0.6, False)
    assert split == Split(ZERO, 1.0, 20, 0.4)


def test_explicit_hash_keys_are_not_known() -> None:
    """A hot shard whose records came by explicit hash keys is split in the middle."""
    hot = sample(900, {f"key-{number}": 90 for number in range(100)}, [(7, 90)])
    assert judged(hot, sample(300)) == [SplitInTheMiddle(ZERO, 0.9, HASH_KEYS // 4)]


def test_cold_neighbours_are_merged() -> None:
    """Adjacent shards with little traffic are merged in pairs, each shard once."""
    assert judged(sample(10), sample(20), sample(30), sample(700)) == [Merge(ZERO, ONE, 0.03)]
    assert judged(sample(350), sample(100), sample(700), sample(10)) == [Fine()]


def test_shards_without_a_sample_are_left_alone() -> None:
    """A shard that could not be sampled is neither merged nor counted as cold."""
    assert judged(sample(50), None, sample(50), sample(700)) == [Fine()]
    assert Scale not in [type(one) for one in judged(sample(900), sample(900), None)]


def test_only_neighbours_are_merged() -> None:
    """Shards with a gap between their hash keys are not merged: the one between them is being split."""
    first, _, third, fourth = even_shards(4)
    samples = by_shard([first, third, fourth], sample(50), sample(50), sample(700))
    assert advise(summary(), [first, third, fourth], samples) == [Fine()]


def test_even_and_hot() -> None:
    """If all shards are equally hot, their number is raised, at most to twice as many."""
    assert judged(sample(900), sample(910)) == [Scale(2, 4, 0.905)]
    assert judged(*[sample(850)] * 4) == [Scale(4, 6, 0.85)]
    assert judged(*[sample(2500)] * 2) == [Scale(2, 4, 2.5)]


def test_even_and_cold() -> None:
    """If all shards are equally cold, their number is lowered, at most to half of them."""
    assert judged(*[sample(20)] * 5) == [Scale(5, 3, 0.02)]
    assert judged(*[sample(125)] * 8) == [Scale(8, 4, 0.125)]


def test_uneven_ranges_are_kept() -> None:
    """UpdateShardCount would undo splits that balance a stream. So shards of different sizes are split and merged one by one."""
    shards = open_shards(0, 2**100)
    (merge,) = advise(summary(), shards, by_shard(shards, sample(100), sample(100)))
    assert merge == Merge(ZERO, ONE, 0.2)


def test_no_number_of_shards_helps_a_hot_key() -> None:
    """Equally hot shards, one of which has a hot key, are judged one by one."""
    hot = sample(900, {"big": 9000}, [(10, 9000)])
    advice = judged(hot, sample(900, {"a": 1}, [(HASH_KEYS - 20, 4500), (HASH_KEYS - 10, 4500)]))
    assert [type(one) for one in advice] == [HotKey, Split]


def test_too_little_traffic() -> None:
    """A few records say nothing about a stream."""
    assert judged(sample(4), sample(5)) == [TooLittle(90)]
    assert judged(sample(5), sample(5)) == [Scale(2, 1, 0.005)]


def test_on_demand() -> None:
    """Of an on-demand stream hot shards and hot keys are named. It is neither split nor merged."""
    hot = sample(900, {"big": 9000}, LOW)
    assert judged(hot, sample(1), is_on_demand=True) == [HotKey(ZERO, 0.9, "big", 1.0, True)]
    assert judged(sample(900, {"a": 1}, LOW), sample(1), is_on_demand=True) == [
        LeftToKinesis(ZERO, 0.9),
        WarmUp(USED, None, None),
    ]
    assert judged(sample(50), sample(50), is_on_demand=True) == [Fine()]


def test_keys_do_not_matter_where_kinesis_distributes() -> None:
    """With record distribution AUTO no key is blamed."""
    hot = sample(900, {"big": 9000}, LOW)
    assert judged(hot, sample(1), is_on_demand=True, is_auto=True)[0] == LeftToKinesis(ZERO, 0.9)


@pytest.mark.parametrize(
    ("warm", "wanted"),
    [
        (None, None),
        (WarmThroughput(1, 1), 2),
        (WarmThroughput(2, 2), None),
        (WarmThroughput(1, 2), None),
        (WarmThroughput(2, 1), None),
    ],
)
def test_a_warm_throughput_has_room_for_twice_the_load(
    warm: WarmThroughput | None, wanted: int | None
) -> None:
    """It is advised where the stream has less, and is not being scaled to it."""
    shards = even_shards(2)
    facts = evolve(summary(is_on_demand=True), warm=warm)
    advice = advise(facts, shards, by_shard(shards, sample(900, {"a": 1}, LOW), sample(1)))
    assert advice == [LeftToKinesis(ZERO, 0.9), WarmUp(USED, warm, wanted)]


def test_no_warm_throughput_is_above_the_limit() -> None:
    """Kinesis scales a stream to 10 GiB/s at most."""
    shards = even_shards(6000)
    facts = evolve(summary(is_on_demand=True), warm=WarmThroughput(200, 200))
    advice = advise(facts, shards, by_shard(shards, *[sample(1000, {"a": 1}, LOW)] * 6000))
    assert isinstance(advice[-1], WarmUp)
    assert advice[-1].wanted == 10 * 1024
