"""Generated replays of the first batch: LATEST is asked for anew, and must not change what the batch holds."""

from __future__ import annotations

import random

from hypothesis import given, settings, strategies as st

from kinesis_core.model import AtTimestamp, Latest, StartingPosition, TrimHorizon
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned

puts = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.5, 4.9, 60.0])), max_size=12)
positions = st.sampled_from([Latest(), Latest(), TrimHorizon(), AtTimestamp(1_790_000_000_500)])


def put(stream: FakeStream, where: list[tuple[int, float]]) -> None:
    shards = stream.open_shards()
    for index, pause_s in where:
        stream.put(shards[index % len(shards)], b"x")
        stream.clock.sleep(pause_s)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(1, 3), positions, puts, puts, puts, st.booleans())
def test_a_replayed_first_batch_holds_the_same(
    shards: int,
    position: StartingPosition,
    before: list[tuple[int, float]],
    during: list[tuple[int, float]],
    after: list[tuple[int, float]],
    is_split: bool,
) -> None:
    """Whatever is put or split between a crash in batch 0 and its replay, the replay reads the same records."""
    stream = FakeStream(FakeClock(), random.Random(0)).create(shards)
    stream.clock.sleep(1)
    put(stream, before)
    query = Planned([stream], position)
    put(stream, during)
    start, read = query.start, query.batch()
    end = query.start
    put(stream, after)
    if is_split:
        stream.split(stream.open_shards()[0])
    query.restart()
    anew = query.planner.initial_offset(position)
    assert query.read(anew, end) == read
    assert query.read(start, end) == read
