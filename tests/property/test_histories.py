"""Generated histories of a stream and of a query on it: every record once, in order, and the same again."""

from __future__ import annotations

import random

import pytest
from attrs import evolve
from hypothesis import given, settings, strategies as st

from kinesis_core.model import Latest, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from property.histories import (
    History,
    Query,
    assert_all_read,
    everything,
    limits,
    moods,
    play,
    put,
    reshard,
    steps,
)
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood


@pytest.mark.tests
@settings(max_examples=examples(1000), deadline=None)
@given(
    st.integers(1, 3),
    moods,
    limits,
    st.lists(st.integers(0, 99), max_size=3),
    steps,
    st.booleans(),
    st.booleans(),
    st.integers(),
)
def test_every_record_is_read_exactly_once(
    shards: int,
    mood: Mood,
    bounds: Limits,
    resharded: list[int],
    history: History,
    from_latest: bool,
    is_young: bool,
    seed: int,
) -> None:
    """Whatever puts, reshards, stale listings, empty pages, throttles, restarts and lost commits come, each record comes once and in order."""
    # Of an old stream, a first listing without its oldest shards looks as if they had left it.
    stream = FakeStream(
        FakeClock(), random.Random(seed), mood if is_young else evolve(mood, stale_listings=0)
    )
    if is_young:
        stream.created_ms = stream.now_ms()
    stream.create(shards)
    for where in resharded:  # what happened before the query
        put(stream, where, 5, 0.01)
        reshard(stream, "split" if where % 2 else "merge", where)
    before = everything(stream) if from_latest else set()
    query = Query(stream, PlanSettings(bounds), Latest() if from_latest else TrimHorizon())
    stream.mood = mood
    play(stream, query, history)
    assert_all_read(query, before)
