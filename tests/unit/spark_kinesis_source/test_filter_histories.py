"""Batch reads that are narrowed by the conditions of a query, over generated histories of streams: no row is missing."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

import pytest
from attrs import frozen
from hypothesis import example, given, settings, strategies as st

from kinesis_core.errors import DataLossError, KinesisError, OptionError
from kinesis_core.planning import Planner
from kinesis_core.reading import PollingRangeReader
from property.disordered import (
    HOUR_S,
    RETENTION_HOURS,
    SHARD,
    SHARDS,
    STREAM,
    STREAMS,
    TIME,
    History,
    Row,
    at,
    histories,
    names,
    row_of,
    rows_of,
    times,
)
from spark_kinesis_source import default_schema
from spark_kinesis_source.batch_reader import FilteringBatchReader
from spark_kinesis_source.options import SourceOptions
from support.examples import examples
from support.fake_stream import Mood

sources = pytest.importorskip("pyspark.sql.datasource")
if not hasattr(sources, "EqualTo"):
    pytest.skip("Spark 4.0 pushes no filters", allow_module_level=True)

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda given, value: given == value,
    "EqualNullSafe": lambda given, value: given == value,
    "In": lambda given, values: given in values,
    "GreaterThan": lambda given, value: given > value,
    "GreaterThanOrEqual": lambda given, value: given >= value,
    "LessThan": lambda given, value: given < value,
    "LessThanOrEqual": lambda given, value: given <= value,
}
Key = tuple[str, str, int]


def read(history: History, options: dict[str, str], filters: list[Any]) -> list[Row]:
    """Return the rows that the tasks of a batch read deliver, before Spark applies the conditions."""
    streams = history.streams()
    parsed = SourceOptions.parse({"streamName": ",".join(STREAMS), "region": "eu-west-1", **options})
    clock = streams[STREAMS[0]].clock
    reader = FilteringBatchReader(parsed, tuple(default_schema().names))
    assert reader.pushFilters(filters) == filters
    planner = Planner(streams, parsed.plan, threads=1, clock=clock, rng=random.Random(1))
    tasks = PollingRangeReader(streams.__getitem__, parsed.read, random.Random(2))
    return [
        row_of(each.stream, each.shard_id, record)
        for each in chain.from_iterable(reader.plan(planner))
        for page in tasks.read(each, clock)
        for record in page.records
    ]


def read_or_error(history: History, options: dict[str, str], filters: list[Any]) -> list[Row] | KinesisError:
    try:
        return read(history, options, filters)
    except (DataLossError, OptionError) as error:
        return error


def key(row: Row) -> Key:
    return row[STREAM], row[SHARD], row["number"]


shard_ids = st.sampled_from([*SHARDS, "other"])
kinds = st.sampled_from([kind for kind in COMPARE if kind != "In"])
is_negated = st.sampled_from([False] * 7 + [True])


def conditions_on(
    column: st.SearchStrategy[str], values: st.SearchStrategy[Any]
) -> st.SearchStrategy[tuple[bool, str, str, Any]]:
    return st.tuples(is_negated, column, kinds, values) | st.tuples(
        is_negated, column, st.just("In"), st.lists(values, max_size=3)
    )


on_times = conditions_on(st.just(TIME), times)
on_names = conditions_on(st.just(SHARD), shard_ids) | conditions_on(st.just(STREAM), names)
conditions = st.builds(
    lambda first, others: [first, *others], on_times, st.lists(on_times | on_names, max_size=1)
)
Condition = tuple[bool, str, str, Any]
"""Whether it is negated, the column, the kind and the value."""
Positions = tuple[tuple[int, int] | str, tuple[int, int] | str]
oldest, latest = st.just("TRIM_HORIZON"), st.just("LATEST")
positions = st.tuples(oldest | oldest | oldest | times, latest | latest | latest | times)


@frozen
class Moments:
    """Turns a record and a distance into a time."""

    arrivals: list[datetime]
    now: datetime

    def of(self, time: tuple[int, int]) -> datetime:
        which, off_us = time
        return self.arrivals[which % len(self.arrivals)] + timedelta(microseconds=off_us)

    def filters(self, given: list[Condition]) -> tuple[list[Any], Callable[[Row], bool]]:
        """Return conditions as Spark passes them on, and a function that applies them as Spark does."""
        filters: list[Any] = []
        conditions: list[Callable[[Row], bool]] = []
        for is_negated, column, kind, value in given:
            if column == TIME:
                value = [self.of(each) for each in value] if kind == "In" else self.of(value)
            made = getattr(sources, kind)((column,), (*value, None) if kind == "In" else value)
            filters.append(sources.Not(made) if is_negated else made)
            conditions.append(partial(_meets, is_negated, column, COMPARE[kind], value))
        return filters, lambda row: all(each(row) for each in conditions)

    def position(self, given: tuple[int, int] | str) -> str:
        """Return the text of an option. A position in the future would be an error."""
        return (
            given if isinstance(given, str) else f"AT_TIMESTAMP {min(self.of(given), self.now).isoformat()}"
        )


def _meets(is_negated: bool, column: str, compare: Callable[[Any, Any], bool], value: Any, row: Row) -> bool:
    return compare(row[column], value) != is_negated


def together(begins_late: bool, age_s: float) -> History:
    """Return twenty records that arrived together. Some have times that are a margin before those of earlier ones."""
    return History(Mood(), begins_late, 1, [("put", "orders", 0, 20, 0.0), ("wait", age_s)], 0)


WHOLE = ("TRIM_HORIZON", "LATEST")
EACH = [[(False, TIME, "EqualTo", (number, 0))] for number in range(20)]
SINCE = [[(False, TIME, "GreaterThanOrEqual", (0, 0))]]


@settings(max_examples=examples(300), deadline=None)
@example(together(begins_late=False, age_s=900), WHOLE, EACH, True)
@example(together(begins_late=True, age_s=900), WHOLE, EACH, True)
# A read from the oldest record leaves out those that are about to expire.
@example(together(begins_late=False, age_s=24 * HOUR_S - 180), WHOLE, SINCE, True)
@given(histories, positions, st.lists(conditions, min_size=5, max_size=5), st.booleans())
def test_the_rows_are_the_same(
    history: History, given_positions: Positions, queries: list[list[Condition]], fails: bool
) -> None:
    """
    After Spark's own filter, a read has the same rows with and without push-down, and no more come from the source.

    An error is the same, unless the conditions exclude its reason: what has expired, or a start after the end.
    """
    streams = history.streams()
    now = at(streams[STREAMS[0]].now_ms())
    rows = rows_of(streams)
    moments = Moments([row[TIME] for row in rows], now)
    start, end = map(moments.position, given_positions)
    options = {"startingPosition": start, "endingPosition": end, "failOnDataLoss": str(fails)}
    whole = read_or_error(history, options, [])
    for filters, meets in map(moments.filters, queries):
        narrowed = read_or_error(history, options, filters)
        if isinstance(whole, list):
            assert isinstance(narrowed, list), narrowed
            assert chosen(narrowed, meets) == chosen(whole, meets)
            assert set(map(key, narrowed)) <= set(map(key, whole))
        elif not isinstance(narrowed, list):
            assert type(narrowed) is type(whole)
        elif isinstance(whole, DataLossError):
            left = read(history, {**options, "failOnDataLoss": "false"}, [])
            assert chosen(narrowed, meets) == chosen(left, meets)
            assert all(row[TIME] > now - timedelta(hours=RETENTION_HOURS) for row in chosen(rows, meets))
        else:
            assert not chosen(narrowed, meets)


def chosen(rows: list[Row], meets: Callable[[Row], bool]) -> list[Row]:
    return sorted(filter(meets, rows), key=key)
