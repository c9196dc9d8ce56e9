"""The generated histories again, by a query whose every batch was planned before the one in front of it was read."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_core.model import Offset, TrimHorizon
from kinesis_core.planning import Limits, PlanAhead, Planner, PlanSettings
from kinesis_core.planning.pacing import Timer
from kinesis_core.planning.schedule import LastPlan
from property.histories import History, Query, assert_all_read, limits, moods, play, steps
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood


@define
class AlwaysSlow:
    """Calls its planner slow, so that every plan is worth making ahead, and none ever becomes old."""

    planner: Planner

    @property
    def last_plan(self) -> LastPlan:
        return evolve(self.planner.last_plan, planning_s=1e9)

    def set_awaited(self, is_awaited: bool) -> None:
        self.planner.set_awaited(is_awaited)

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        return self.planner.next_offset(start, bounded=bounded)

    def lag_ms(self) -> dict[str, dict[str, int]]:
        return self.planner.lag_ms()


@define
class AtOnce:
    """A timer that does not wait."""

    call: Callable[[], None]

    def start(self) -> None:
        self.call()

    def cancel(self) -> None:
        pass

    def join(self) -> None:
        pass


def at_once(_after_s: float, call: Callable[[], None]) -> Timer:
    return AtOnce(call)


@define
class QueryAhead(Query):
    plans: PlanAhead = field(init=False)

    def restart(self) -> None:
        Query.restart(self)
        self.plans = PlanAhead(AlwaysSlow(self.planner), self.stream.clock, at_once)

    def plan(self, *, bounded: bool = True) -> Offset | None:
        end = self.plans.next_offset(self.start, bounded=bounded)
        self.is_logged = True
        return None if end.to_json() == self.start.to_json() else end


@pytest.mark.tests
@settings(max_examples=examples(300), deadline=None)
@given(st.integers(1, 3), moods, limits, steps, st.integers())
def test_planned_ahead_every_record_is_read_exactly_once(
    shards: int, mood: Mood, bounds: Limits, history: History, seed: int
) -> None:
    """Whatever happens between a plan and the batch it is for, each record comes once and in order."""
    stream = FakeStream(FakeClock(), random.Random(seed), mood).create(shards)
    query = QueryAhead(stream, PlanSettings(bounds), TrimHorizon())
    play(stream, query, history)
    assert_all_read(query)
