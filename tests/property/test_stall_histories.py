"""Generated histories of shards that bring nothing for a while: stalls of some minutes change no record, and are no loss."""

from __future__ import annotations

import random

import pytest
from attrs import evolve
from hypothesis import given, settings, strategies as st

from kinesis_core.model import After, At, AtTimestamp, Latest, ShardRange, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import FanOutRangeReader
from property.histories import History, Query, assert_all_read, everything, limits, moods, play, put, steps
from property.reported import reported_losses
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood
from support.fake_subscriptions import Subscriptions

pytestmark = pytest.mark.tests  # histories take seconds

stalling = st.builds(evolve, moods, stalls=st.sampled_from([1, 5, 20]))


@settings(max_examples=examples(200), deadline=None)
@given(stalling, limits, steps, st.booleans(), st.booleans(), st.integers())
def test_stalls_change_no_record(
    mood: Mood, bounds: Limits, history: History, fails: bool, crosses: bool, seed: int
) -> None:
    """Wherever plans and tasks meet stalls, each record comes once and in order, and nothing is reported lost."""
    stream = FakeStream(FakeClock(), random.Random(seed), mood)
    stream.created_ms = stream.now_ms()
    stream.create(2)
    with reported_losses() as reported:
        query = Query(
            stream,
            PlanSettings(bounds, fail_on_data_loss=fails, first_plan_crosses_gaps=crosses),
            TrimHorizon(),
        )
        play(stream, query, history)
        stream.mood, stream.stalls = evolve(mood, stalls=0), {}
        assert_all_read(query)
    assert not reported


@settings(max_examples=examples(100), deadline=None)
@given(stalling, st.integers(1, 60), st.booleans(), st.booleans(), st.integers())
def test_a_batch_up_to_now_is_whole(
    mood: Mood, count: int, is_closed: bool, to_latest: bool, seed: int
) -> None:
    """A batch read waits for its records, whatever stalls meanwhile."""
    stream = FakeStream(FakeClock(), random.Random(seed), evolve(mood, stale_listings=0, jitter_ms=0))
    stream.create(2)
    put(stream, 0, count, 0.5)
    if is_closed:
        stream.split(stream.open_shards()[0])
    put(stream, 1, count, 0.5)
    expected = everything(stream)
    query = Query(stream, PlanSettings(), TrimHorizon())
    until_ms = stream.now_ms()
    stream.clock.sleep(1)
    put(stream, 1, 0 if to_latest else 3, 0.5)
    stream.clock.sleep(5)
    end = query.planner.end_offset(query.start, Latest() if to_latest else AtTimestamp(until_ms))
    read = {number for _, number in query.read(query.start, end)}
    assert read == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 60), st.integers(1, 20), st.booleans(), st.sampled_from([0, 23.9, 100]), st.integers())
def test_fan_out_delivers_the_same(
    count: int, stalls: int, fallback_to_polling: bool, age_h: float, seed: int
) -> None:
    """A range is read whole by subscription as well, with a polled rest or without one."""
    stream = FakeStream(FakeClock(), random.Random(seed)).create(1)
    put(stream, 0, count, 0.01)
    (shard,) = stream.shards.values()
    stream.clock.sleep(age_h * 3600)
    stream.mood = Mood(stalls=stalls)
    first, last = shard.records[0].number, shard.records[-1].number
    polling = PollingRangeReader(lambda _: stream, ReadSettings(7), random.Random(0))
    subscriptions = Subscriptions(stream)
    ranges = FanOutRangeReader(
        lambda _: subscriptions, polling, FanOutSettings(fallback_to_polling), random.Random(0)
    )
    pages = ranges.read(ShardRange("orders", shard.shard_id, At(first), After(last)), stream.clock)
    assert [record.number for page in pages for record in page.records] == [r.number for r in shard.records]
