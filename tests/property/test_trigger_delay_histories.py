"""Generated histories of a query whose batches wait: nothing is lost or repeated, and no record waits for too long."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.model import Latest, Offset, TrimHorizon
from kinesis_core.planning import BatchGate, Limits, PlanSettings
from property.histories import (
    History,
    Query,
    assert_all_read,
    everything,
    limits,
    moods,
    play,
    reshard,
    steps,
)
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood

TODAY_S = {0: 3.0, 30: 25.0}
"""Longer than a record waits without the options, by how many of 100 calls are throttled."""

minima = st.sampled_from([2, 10, 1000])
delays = st.sampled_from([0.0, 0.5, 5.0, 30.0])
long_delays = st.sampled_from([0.5, 5.0, 100.0])


@define
class WaitingQuery(Query):
    min_records: int = field(kw_only=True)
    max_delay_s: float = field(kw_only=True)
    gate: BatchGate = field(init=False)

    def restart(self) -> None:
        Query.restart(self)
        self.gate = BatchGate(self.planner, self.min_records, self.max_delay_s, self.stream.clock)

    def plan(self, *, bounded: bool = True) -> Offset | None:
        end = self.gate.next_offset(self.start, bounded=bounded)
        self.is_logged = True
        return None if end.to_json() == self.start.to_json() else end


@pytest.mark.tests
@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 3), moods, limits, steps, minima, delays, st.booleans(), st.integers())
def test_every_record_is_read_exactly_once(
    shards: int,
    mood: Mood,
    bounds: Limits,
    history: History,
    minimum: int,
    delay_s: float,
    from_latest: bool,
    seed: int,
) -> None:
    """Whatever is held back, and for how long: each record comes once and in order, children after their parents."""
    stream = FakeStream(FakeClock(), random.Random(seed), mood).create(shards)
    position = Latest() if from_latest else TrimHorizon()
    query = WaitingQuery(stream, PlanSettings(bounds), position, min_records=minimum, max_delay_s=delay_s)
    play(stream, query, history)
    assert_all_read(query)


events = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.05, 0.7, 3.0, 20.0, 100.0]),
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 99), st.sampled_from([1, 1, 3, 40])),
            st.tuples(st.just("reshard"), st.sampled_from(["split", "merge"]), st.integers(0, 99)),
            st.tuples(st.just("restart")),
        ),
    ),
    max_size=25,
)


@pytest.mark.tests
@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from([0, 0, 300]),
    st.sampled_from([0, 30]),
    st.sampled_from([None, 100, 100_000]),
    st.booleans(),
    events,
    minima,
    long_delays,
    st.booleans(),
)
def test_no_record_waits_longer_than_the_delay(
    shards: int,
    jitter_ms: int,
    throttles: int,
    limit: int | None,
    ends_alone: bool,
    history: Sequence[tuple[float, tuple[Any, ...]]],
    minimum: int,
    delay_s: float,
    bounded: bool,
) -> None:
    """A record is in a batch by the time that it would take anyway and the delay, across reshards and restarts."""
    mood = Mood(throttles, jitter_ms=jitter_ms, end_page_of_its_own=ends_alone)
    stream = FakeStream(FakeClock(), random.Random(1), mood).create(shards)
    settings_ = PlanSettings(Limits(max_records=limit))
    query = WaitingQuery(stream, settings_, TrimHorizon(), min_records=minimum, max_delay_s=delay_s)
    put_s: dict[str, float] = {}
    planned_s: dict[str, float] = {}

    def run_until(moment_s: float) -> None:
        while stream.clock.now < moment_s:
            if query.run_batch(bounded=bounded):
                planned_s.update((number, stream.clock.now) for _, number in query.batches[-1])

    for pause_s, event in history:
        run_until(stream.clock.now + pause_s)
        match event:
            case ("put", where, count):
                open_shards = stream.open_shards()
                for _ in range(count):
                    record = stream.put(open_shards[where % len(open_shards)], b"x")
                    put_s[record.sequence_number] = stream.clock.now
            case ("reshard", kind, where):
                reshard(stream, kind, where)
            case ("restart",):
                query.restart()
    run_until(stream.clock.now + delay_s + TODAY_S[throttles] + 30)
    assert set(planned_s) == everything(stream)
    longest_s = delay_s + jitter_ms / 1000 + TODAY_S[throttles]
    assert [n for n in put_s if planned_s[n] - put_s[n] > longest_s] == []
