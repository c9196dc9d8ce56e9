"""Generated runs of AvailableNow, and batches without a bound, while producers and reshards continue."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kinesis_core.planning import Limits, PlanSettings
from support.fake_stream import FakeClock, FakeStream, Mood
from support.planned import Planned, Read, everything

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 10]),
    end_page_of_its_own=st.booleans(),
    stale_listings=st.sampled_from([0, 40, 90]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 99), st.integers(1, 40)),
        st.tuples(st.just("split"), st.integers(0, 99)),
        st.tuples(st.just("merge"), st.integers(0, 99)),
        st.tuples(st.just("wait"), st.sampled_from([0.3, 40.0, 4000.0])),
    ),
    max_size=12,
)
Step = tuple[Any, ...]


def play(stream: FakeStream, history: Sequence[Step]) -> None:
    for step in history:
        shards = stream.open_shards()
        match step:
            case ("put", where, count):
                for _ in range(count):
                    stream.put(shards[where % len(shards)], b"x" * 20)
                    stream.clock.sleep(0.005)
            case ("wait", seconds):
                stream.clock.sleep(seconds)
            case ("merge", where) if len(shards) > 1:
                stream.merge(shards[where % len(shards)], shards[(where + 1) % len(shards)])
            case (_, where):
                stream.split(shards[where % len(shards)])


def make(shards: int, mood: Mood, seed: int) -> FakeStream:
    stream = FakeStream(FakeClock(), random.Random(seed), mood)
    stream.created_ms = stream.now_ms()  # so a first listing that lacks a parent is known for stale
    return stream.create(shards)


def assert_in_order(stream: FakeStream, read: Read) -> None:
    """See that each shard's records are in order, and none comes before the last of a parent's."""
    indexes: dict[str, list[int]] = {}
    for index, (shard_id, _) in enumerate(read):
        indexes.setdefault(shard_id, []).append(index)
    for shard_id, mine in indexes.items():
        numbers = [int(read[index][1]) for index in mine]
        assert numbers == sorted(numbers)
        for parent in stream.shards[shard_id].parents:
            assert indexes.get(parent, [-1])[-1] < mine[0]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3), moods, st.sampled_from([1, 3, 20, None]), steps, steps, st.integers())
def test_available_now_reads_what_was_there_and_ends(
    shards: int, mood: Mood, limit: int | None, before: list[Step], meanwhile: list[Step], seed: int
) -> None:
    """What is in the stream at the first plan comes exactly once, in bounded batches, and nothing that came later."""
    stream = make(shards, mood, seed)
    play(stream, before)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=limit)))
    query.planner.fix_targets()
    there, waiting = everything(stream), list(meanwhile)
    read: Read = []
    for _ in range(2000):
        batch = query.batch()
        play(stream, waiting[:1])
        del waiting[:1]
        if not batch:
            break
        per_shard = [sum(1 for s, _ in batch if s == shard_id) for shard_id in stream.shards]
        # 200 records a second came, so the span that bounds a batch is exceeded by nothing but its widening
        assert limit is None or max(per_shard) <= 32 * limit
        read += batch
    else:
        raise AssertionError("AvailableNow did not end")
    assert sorted(read) == sorted(there)
    assert_in_order(stream, read)
    assert query.batch() == [], "it continued after its end"


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3), moods, steps, steps, st.integers())
def test_a_batch_without_a_bound_holds_everything_in_order(
    shards: int, mood: Mood, before: list[Step], later: list[Step], seed: int
) -> None:
    """One unbounded batch reaches the tip of all generations, each after its parents, the same after a restart."""
    stream = make(shards, mood, seed)
    play(stream, before)
    query = Planned([stream])
    start = query.start
    read = query.batch(bounded=False)
    assert sorted(read) == sorted(everything(stream))
    assert_in_order(stream, read)
    end = query.start
    play(stream, later)
    query.restart()
    again = query.read(start, end)
    assert sorted(again) == sorted(read)
    assert_in_order(stream, again)
    rest = query.batch(bounded=False)
    assert sorted(read + rest) == sorted(everything(stream))
    assert_in_order(stream, read + rest)
    assert query.batch(bounded=False) == []
