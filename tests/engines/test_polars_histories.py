"""Polars queries over generated histories of streams: what is pushed down to positions changes no result."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from attrs import define
from hypothesis import example, given, settings, strategies as st

from kinesis_core import PlanSettings, ReadSettings, Stream
from kinesis_core.planning import Planner
from kinesis_core.polars import scan_kinesis
from property.disordered import (
    SHARD,
    SHARDS,
    STREAM,
    STREAMS,
    TIME,
    History,
    at,
    histories,
    names,
    rows_of,
    times,
)
from support.examples import examples
from support.fake_stream import Mood

pytestmark = pytest.mark.engines

NAME = STREAMS[0]
COLUMNS = [TIME, SHARD, STREAM, "sequenceNumber", "partitionKey"]
COMPARE: list[Callable[[Any, Any], Any]] = [
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
]
time = pl.col(TIME)
Moment = Callable[[tuple[int, int]], datetime]
Condition = Callable[[Moment], pl.Expr]
"""Returns a condition, given what turns a record and a distance into a time."""


@define
class OneByOne(Stream):
    """A stream that plans its shards in one thread, so that the same history is planned in the same way."""

    def _planner(self, settings: PlanSettings) -> Planner:
        return Planner({NAME: self._api}, settings, threads=1, clock=self._clock, rng=random.Random(1))


compared: st.SearchStrategy[Condition] = st.builds(
    lambda compare, given: lambda moment: compare(time, moment(given)), st.sampled_from(COMPARE), times
)
between: st.SearchStrategy[Condition] = st.builds(
    lambda first, last, closed: lambda moment: time.is_between(moment(first), moment(last), closed=closed),
    times,
    times,
    st.sampled_from(["both", "left", "right", "none"]),
)
among: st.SearchStrategy[Condition] = st.builds(
    lambda given: lambda moment: time.is_in([*map(moment, given), None]), st.lists(times, max_size=3)
)
of_shards: st.SearchStrategy[Condition] = st.builds(
    lambda shards: lambda _: pl.col(SHARD).is_in(shards),
    st.lists(st.sampled_from([*SHARDS, "other"]), max_size=2),
)
of_stream: st.SearchStrategy[Condition] = st.builds(lambda name: lambda _: pl.col(STREAM) == name, names)
of_others: st.SearchStrategy[Condition] = st.sampled_from(
    [
        lambda _: pl.col("partitionKey") == "k",
        lambda _: time.dt.minute() < 30,
        lambda _: time.dt.offset_by("2h") > at(0),
        lambda _: time.is_not_null(),
    ]
)
simple = compared | compared | between | among | of_shards | of_stream | of_others
any_of: st.SearchStrategy[Condition] = st.builds(
    lambda first, second: lambda moment: first(moment) | second(moment), simple, simple
)
conditions = st.lists(
    simple | simple | any_of | simple.map(lambda made: lambda moment: ~made(moment)), max_size=3
)
"""All of them hold."""


def frame(history: History) -> pl.LazyFrame:
    stream = history.streams()[NAME]
    opened = OneByOne(NAME, "eu-west-1", NAME, stream, PlanSettings(), ReadSettings(threads=1), stream.clock)
    return scan_kinesis(opened, columns=COLUMNS)


def together(begins_late: bool) -> History:
    """Return twenty records that arrived together. Some have times that are a margin before those of earlier ones."""
    return History(Mood(), begins_late, 1, [("put", NAME, 0, 20, 0.0), ("wait", 900.0)], 0)


def equal_to(number: int) -> Condition:
    return lambda moment: time == moment((number, 0))


EQUAL_TO_EACH = [[equal_to(number)] for number in range(20)]


@settings(max_examples=examples(100), deadline=None)
@example(together(begins_late=False), EQUAL_TO_EACH)
@example(together(begins_late=True), EQUAL_TO_EACH)
@given(histories, st.lists(conditions, min_size=3, max_size=3))
def test_the_rows_are_those_of_a_filter_on_the_whole(
    history: History, queries: list[list[Condition]]
) -> None:
    """Whatever the conditions are, the frame has the rows that the whole frame has after the same filter."""
    arrivals = [row[TIME] for row in rows_of(history.streams()) if row[STREAM] == NAME] or [at(0)]

    def moment(given: tuple[int, int]) -> datetime:
        arrived: datetime = arrivals[given[0] % len(arrivals)]
        return arrived + timedelta(microseconds=given[1])

    whole = frame(history).collect()
    for query in queries:
        predicates = [condition(moment) for condition in query]
        found = frame(history).filter(*predicates).collect()
        assert found.sort(SHARD, "sequenceNumber").equals(
            whole.filter(*predicates).sort(SHARD, "sequenceNumber")
        )
