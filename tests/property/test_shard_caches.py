"""Generated histories in which the caches of shards are thrown away, between any two calls: the records are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, field
from hypothesis import example, given, settings, strategies as st

from kinesis_core.model import Cut, Page
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.shard_state import ShardCache, ShardState
from property.reported import reported_losses
from support.examples import examples
from support.fake_stream import FakeClock
from support.planned import Planned
from support.scripted_stream import ScriptedStream

pytestmark = pytest.mark.tests  # histories take seconds

A = "shardId-000000000000"
HOUR_S = 3600
QUIET = 12
"""So many plans in a row without a record show that all that is left was read."""

steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"), st.integers(0, 9), st.sampled_from([1, 3, 12, 40]), st.sampled_from([0.0, 0.5])
        ),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 400.0, 13.0 * HOUR_S, 25.0 * HOUR_S])),
        st.tuples(st.just("split"), st.integers(0, 9)),
        st.just(("read",)),
        st.just(("peek",)),
        st.just(("restart",)),
    ),
    max_size=12,
)
Step = tuple[Any, ...]


@define
class Forgetful(ScriptedStream):
    """Throws the caches of a query away before some of its calls."""

    percent: int = 0
    chance: random.Random = field(factory=random.Random)
    query: Planned | None = None
    thrown: int = 0

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        self._throw()
        return super().get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self._throw()
        page = super().get_records(iterator, limit, with_data, shard_id)
        self._throw()
        return page

    def _throw(self) -> None:
        if self.query is not None and self.chance.randrange(100) < self.percent:
            for state in states(self.query):
                state.cache = ShardCache()
            self.thrown += 1


def states(query: Planned) -> list[ShardState]:
    return [state for planner in query.planner._streams.values() for state in planner.states.found.values()]


def play(
    percent: int, seed: int, limit: int, gaps: dict[int, int], history: Sequence[Step]
) -> tuple[list[Any], ...]:
    """Return what a query read, by shard and index of the record, and the losses that it reported."""
    stream = Forgetful(FakeClock(), name="orders", percent=percent, chance=random.Random(seed))
    stream.forgets = True
    stream.create(1)
    stream.clock.sleep(1)
    stream.gaps = {(A, index): count for index, count in gaps.items()}
    settings = PlanSettings(Limits(max_records=limit), fail_on_data_loss=False, first_plan_crosses_gaps=False)
    stream.query = query = Planned([stream], settings=settings)
    read: list[Any] = []
    with reported_losses() as reported:
        for step in [("put", 0, 1, 0.0), ("read",), *history, ("read",)]:
            match step:
                case ("put", where, count, every_s):
                    shards = stream.open_shards()
                    stream.put_many(shards[where % len(shards)], count, every_s)
                case ("wait", seconds):
                    stream.clock.sleep(seconds)
                case ("split", where) if len(stream.open_shards()) < 4:
                    stream.split(stream.open_shards()[where % len(stream.open_shards())])
                case ("peek",):
                    query.planner.next_offset(query.start)  # a plan that nobody takes
                case ("restart",):
                    query.restart()
                case ("read",):
                    read += drain(query)
    assert percent < 100 or stream.thrown
    every = {**stream.gone, **stream.shards}
    index = {(s, r.sequence_number): i for s, shard in every.items() for i, r in enumerate(shard.records)}
    return (
        sorted((s, index[s, number]) for s, number in read),
        sorted(shard for shard, _ in reported),
        reported,
    )


def drain(query: Planned) -> list[tuple[str, str]]:
    read: list[tuple[str, str]] = []
    quiet = 0
    while quiet < QUIET:
        batch = query.batch()
        read += batch
        quiet = 0 if batch else quiet + 1
    return read


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from([5, 20, 100]),
    st.integers(0, 2**32),
    st.sampled_from([1, 5, 26, 1000]),
    st.dictionaries(st.integers(1, 30), st.sampled_from([1, 2, 3]), max_size=3),
    steps,
)
@example(
    5, 1, 1, {}, [("split", 0), ("split", 0), ("read",), ("split", 0), ("wait", 25.0 * HOUR_S), ("peek",)]
)
def test_a_cache_can_be_thrown_away_at_any_time(
    percent: int, seed: int, limit: int, gaps: dict[int, int], history: Sequence[Step]
) -> None:
    """
    Iterators, estimates and failed searches may be gone before or after any call: the same records are read, and the same shards
    have lost some.
    """
    if percent == 100:
        gaps = {}  # a gap is never crossed by a query that forgets where it is at each page
    read, lost, _ = play(percent, seed, limit, gaps, history)
    whole_read, whole_lost, _ = play(0, seed, limit, gaps, history)
    assert read == whole_read
    assert lost == whole_lost


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 5, 1000]), steps)
def test_a_loss_is_reported_once(seed: int, limit: int, history: Sequence[Step]) -> None:
    """However many plans come before the oldest record is read, taken or not: one loss after one cut is one warning."""
    running = [step for step in history if step[0] not in ("restart", "split")]
    _, _, reported = play(0, seed, limit, {}, [*running, ("wait", 30.0 * HOUR_S), ("peek",), ("read",)])
    assert len(reported) == len(set(reported))
