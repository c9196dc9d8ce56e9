"""Generated lags, budgets and shards: whatever the lags do, each shard gets its turn."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from hypothesis import given, strategies as st

from kinesis_core.planning.schedule import Turn, Turns, in_turn

lags = st.floats(0, 1e9, allow_nan=False) | st.just(float("inf"))


def plan(turns: Turns, shards: list[str], budget: int, data: st.DataObject) -> list[str]:
    """Plan as many shards as the budget has time for. Return them."""
    behind_ms = dict(
        zip(shards, data.draw(st.lists(lags, min_size=len(shards), max_size=len(shards))), strict=True)
    )
    turns.begin_round()
    turns.begin_plan()
    order = in_turn(shards, turns.of, lambda s: behind_ms[s])
    turns.note(order[:budget], order[budget:], 0.0)
    return order[:budget]


@given(st.integers(1, 25), st.integers(1, 25), st.data())
def test_each_shard_is_planned_once_in_as_many_plans_as_it_takes_for_all(
    count: int, budget: int, data: st.DataObject
) -> None:
    """With time for k of n shards, any n/k plans in a row, rounded up, have each shard, however the lags change."""
    shards = [f"shard-{i}" for i in range(count)]
    turns, needed = Turns(), math.ceil(count / budget)
    plans = [plan(turns, shards, budget, data) for _ in range(3 * needed)]
    for i in range(len(plans) - needed + 1):
        assert {s for planned in plans[i : i + needed] for s in planned} == set(shards)


@given(st.integers(2, 15), st.integers(1, 5), st.data())
def test_shards_that_come_later_starve_none(count: int, budget: int, data: st.DataObject) -> None:
    """New shards come first, once. The others wait for as many plans more as the new ones take."""
    shards, new = [f"shard-{i}" for i in range(count)], [f"new-{i}" for i in range(count)]
    turns = Turns()
    plan(turns, shards, budget, data)
    planned: Counter[str] = Counter()
    for _ in range(math.ceil(2 * count / budget)):
        planned.update(plan(turns, [*shards, *new], budget, data))
    assert set(planned) == {*shards, *new}


@given(st.lists(st.tuples(st.integers(0, 3), lags), max_size=12))
def test_the_order_is_by_turn_and_then_by_lag(known: list[tuple[int, float]]) -> None:
    """A shard that was left out comes before those planned meanwhile. In the same round, the one furthest behind comes first."""
    shards = [f"shard-{i}" for i in range(len(known))]
    of = dict(zip(shards, known, strict=True))
    order = in_turn(shards, lambda s: Turn(of[s][0], 0.0), lambda s: of[s][1])
    assert sorted(order) == sorted(shards)
    for first, second in pairwise(order):
        assert of[first][0] < of[second][0] or (
            of[first][0] == of[second][0] and of[first][1] >= of[second][1]
        )
