"""What happens around a run that ends by itself: generated puts and reshards, and the order of what it read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from support.fake_stream import FakeClock, FakeStream, Mood
from support.planned import Read

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
    """See that each shard's records are in order, and none comes before the last of an ancestor's."""
    indexes: dict[str, list[int]] = {}
    for index, (shard_id, _) in enumerate(read):
        indexes.setdefault(shard_id, []).append(index)
    for shard_id, mine in indexes.items():
        numbers = [int(read[index][1]) for index in mine]
        assert numbers == sorted(numbers)
        for older in stream.ancestors(shard_id):  # those between may have no record
            assert indexes.get(older, [-1])[-1] < mine[0], f"{shard_id} was read before the last of {older}"
