"""Advice on generated streams."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, strategies as st

from kinesis_cli.advice.judge import MERGE_BELOW, HotKey, Merge, Scale, Split, advise, halve
from kinesis_cli.traffic import HOT, Sample
from kinesis_core.model import HASH_KEYS, Shard
from support.sampled import by_shard, open_shards, sample, summary

COUNTS = st.integers(1, 1000)


@st.composite
def weights(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, float]]]:
    """Return a range of hash keys, which may be as small as two, and the traffic at some of them."""
    start = draw(st.integers(0, HASH_KEYS - 2))
    end = draw(
        st.integers(start + 1, min(HASH_KEYS - 1, start + draw(st.sampled_from([3, 10, 1000, 2**128]))))
    )
    at_ends = st.sampled_from([start, start + 1, end - 1, end])
    keys = draw(st.sets(st.one_of(st.integers(start, end), at_ends), max_size=20))
    return start, end, [(key, float(draw(COUNTS))) for key in sorted(keys)]


def difference(weighed: Sequence[tuple[int, float]], new_start: int) -> float:
    first = sum(weight for key, weight in weighed if key < new_start)
    return abs(sum(weight for _, weight in weighed) - 2 * first)


@given(weights())
def test_a_cut_halves_best(drawn: tuple[int, int, list[tuple[int, float]]]) -> None:
    """A cut is one that SplitShard accepts, divides the traffic, and no other one halves it better."""
    start, end, weighed = drawn
    allowed = range(start + 2, end)
    near = {key + step for key, _ in weighed for step in (0, 1)} | {start + 2, end - 1}
    others = [
        new_start
        for new_start in near
        if new_start in allowed
        if 0 < sum(key < new_start for key, _ in weighed) < len(weighed)
    ]
    cut = halve(weighed, start, end)
    if cut is None:
        assert not others
        return
    assert cut.new_start in allowed
    assert difference(weighed, cut.new_start) <= min(difference(weighed, other) for other in others) + 1e-6
    first = sum(weight for key, weight in weighed if key < cut.new_start)
    assert abs(cut.first_share - first / sum(weight for _, weight in weighed)) < 1e-9


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Shard], dict[str, Sample]]:
    """Return open shards, with gaps where some are being resharded, and samples of most of them."""
    starts = sorted({0, *draw(st.sets(st.integers(1, HASH_KEYS - 1), max_size=8))})
    shards = [shard for shard in open_shards(*starts) if draw(st.integers(0, 9))]
    samples = [_sample(draw, shard) if draw(st.integers(0, 9)) else None for shard in shards]
    return shards, by_shard(shards, *samples)


def _sample(draw: st.DrawFn, shard: Shard) -> Sample:
    places = draw(st.sets(st.integers(shard.hash_start, shard.hash_end), max_size=5))
    keys = {f"key-{place}": draw(COUNTS) for place in places}
    return sample(draw(st.floats(0, 1500)), keys, [(place, keys[f"key-{place}"]) for place in sorted(places)])


@given(streams(), st.booleans())
def test_advice_can_be_followed(stream: tuple[list[Shard], dict[str, Sample]], is_on_demand: bool) -> None:
    """
    Splits are of hot shards, inside their hash keys; merges of adjacent shards with little traffic; a number of shards is within
    what one call may change. No shard is both split and merged, or merged twice.
    """
    shards, samples = stream
    by_id = {shard.shard_id: shard for shard in shards}
    advice = advise(summary(is_on_demand=is_on_demand), shards, samples)
    assert advice
    changed: list[str] = []
    for one in advice:
        match one:
            case Split(shard_id, load, new_start):
                shard = by_id[shard_id]
                assert shard.hash_start + 1 < new_start < shard.hash_end
                assert load >= HOT
                changed.append(shard_id)
            case Merge(shard_id, adjacent_id, load):
                assert by_id[shard_id].hash_end + 1 == by_id[adjacent_id].hash_start
                assert load < MERGE_BELOW
                changed += [shard_id, adjacent_id]
            case Scale(count, target):
                assert count == len(shards)
                assert target != count
                assert count <= 2 * target <= 4 * count
            case HotKey(shard_id):
                assert samples[shard_id].is_hot
            case _:
                pass
    assert len(changed) == len(set(changed))
    assert not (is_on_demand and (changed or any(isinstance(one, Scale) for one in advice)))
