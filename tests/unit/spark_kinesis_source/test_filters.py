"""Conditions of a query, as Spark passes them on: what they say about where its records are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_core.model import AtTimestamp, Latest, PerShard, TrimHorizon
from kinesis_core.planning import Wanted
from kinesis_core.shards import MARGIN_MS
from spark_kinesis_source.filters import read_filters

sources = pytest.importorskip("pyspark.sql.datasource")
if not hasattr(sources, "EqualTo"):
    pytest.skip("Spark 4.0 pushes no filters", allow_module_level=True)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TIME = ("approximateArrivalTimestamp",)
DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS


def at(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def a_filter(kind: str, attribute: tuple[str, ...], value: Any) -> Any:
    return getattr(sources, kind)(attribute, value)


@pytest.mark.parametrize(
    ("kind", "us", "since", "until"),
    [
        ("GreaterThanOrEqual", 5000, 5, None),
        ("GreaterThanOrEqual", 5001, 6, None),
        ("GreaterThan", 5000, 6, None),
        ("GreaterThan", 4999, 5, None),
        ("LessThan", 5000, None, 5),
        ("LessThan", 5001, None, 6),
        ("LessThanOrEqual", 5000, None, 6),
        ("LessThanOrEqual", 4999, None, 5),
        ("EqualTo", 5000, 5, 6),
        ("EqualNullSafe", 5000, 5, 6),
    ],
)
def test_microseconds_become_milliseconds(kind: str, us: int, since: int | None, until: int | None) -> None:
    """A filter has microseconds, and a record has whole milliseconds."""
    assert read_filters([a_filter(kind, TIME, at(us))]) == Wanted(since, until)


def test_a_time_that_no_record_has() -> None:
    """Between two milliseconds nothing arrives."""
    assert read_filters([a_filter("EqualTo", TIME, at(5001))]).is_nothing


def test_zones_are_instants() -> None:
    """A time in another zone is the same instant. A time without a zone is not pushed down."""
    nine = datetime(2026, 1, 31, 9, tzinfo=timezone.utc)
    here = nine.astimezone(timezone(timedelta(hours=5, minutes=30)))
    found = [read_filters([a_filter("LessThan", TIME, time)]) for time in (nine, here)]
    assert found[0] == found[1] != Wanted()
    assert read_filters([a_filter("LessThan", TIME, nine.replace(tzinfo=None))]) == Wanted()


@pytest.mark.parametrize("kind", ["LessThan", "LessThanOrEqual", "GreaterThan", "EqualTo", "In"])
@pytest.mark.parametrize("end", [datetime.min, datetime.max])
def test_the_ends_of_time(kind: str, end: datetime) -> None:
    """Tables have 9999-12-31 23:59:59.999999 for "never": no condition is too early or too late."""
    moment = end.replace(tzinfo=timezone.utc)
    wanted = read_filters([a_filter(kind, TIME, (moment,) if kind == "In" else moment)])
    assert wanted.start(Latest(), 0, NOW_MS) == Latest()
    assert wanted.end(PerShard({"a": Latest()}), NOW_MS) == PerShard({"a": Latest()})


def test_shards_and_streams() -> None:
    """Values of several conditions are those that all of them have; a null is equal to nothing."""
    found = read_filters(
        [
            a_filter("In", ("shardId",), ("a", "b", None)),
            a_filter("EqualTo", ("SHARDID",), "b"),
            a_filter("EqualNullSafe", ("streamName",), "orders"),
        ]
    )
    assert found == Wanted(shards=frozenset("b"), streams=frozenset(["orders"]))
    assert not found.is_nothing
    contradiction = [a_filter("EqualTo", ("shardId",), shard) for shard in "ab"]
    assert read_filters(contradiction).is_nothing


@pytest.mark.parametrize(
    "other",
    [
        ("EqualTo", ("partitionKey",), "a"),
        ("StringStartsWith", ("shardId",), "a"),
        ("EqualTo", ("shardId", "nested"), "a"),
        ("EqualNullSafe", ("shardId",), None),
        ("GreaterThan", ("shardId",), "a"),
        ("StringContains", TIME, "a"),
        ("EqualNullSafe", TIME, None),
    ],
)
def test_other_filters_say_nothing(other: tuple[str, tuple[str, ...], Any]) -> None:
    """Spark alone applies them."""
    assert (
        read_filters([a_filter(*other), sources.IsNotNull(TIME), sources.Not(a_filter(*other))]) == Wanted()
    )


kinds = st.sampled_from(
    ["GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "EqualTo", "EqualNullSafe", "In"]
)
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "GreaterThan": lambda us, value: us > value,
    "GreaterThanOrEqual": lambda us, value: us >= value,
    "LessThan": lambda us, value: us < value,
    "LessThanOrEqual": lambda us, value: us <= value,
    "EqualTo": lambda us, value: us == value,
    "EqualNullSafe": lambda us, value: us == value,
}


def _holds(kind: str, value: int, us: int) -> bool:
    return COMPARE[kind](us, value)


spans_us = st.integers(NOW_MS * 1000 - 10 * MARGIN_MS * 1000, NOW_MS * 1000 + MARGIN_MS * 1000)


@st.composite
def arrivals(draw: st.DrawFn) -> list[int]:
    """Return times in the order of a shard: they increase, but each may be off by up to half of the margin."""
    steps = draw(st.lists(st.integers(0, MARGIN_MS), max_size=20))
    shift = draw(st.lists(st.integers(-MARGIN_MS // 2, MARGIN_MS // 2), min_size=20, max_size=20))
    now = NOW_MS - 10 * MARGIN_MS
    times = []
    for step, off in zip(steps, shift, strict=False):
        now += step
        times.append(min(now + off, NOW_MS))
    return times


@given(arrivals(), st.lists(st.tuples(kinds, spans_us, spans_us), max_size=3))
def test_no_wanted_record_is_left_out(times: list[int], given_filters: list[tuple[str, int, int]]) -> None:
    """In any shard whose times are off by less than the margin, all records that meet the conditions are read."""
    filters: list[Any] = []
    conditions: list[Callable[[int], bool]] = []
    for kind, us, other in given_filters:
        if kind == "In":
            filters.append(a_filter(kind, TIME, (at(us), None, at(other))))
            conditions.append({us, other}.__contains__)
        else:
            filters.append(a_filter(kind, TIME, at(us)))
            conditions.append(partial(_holds, kind, us))
    matching = {n for n, ms in enumerate(times) if all(each(ms * 1000) for each in conditions)}
    wanted = read_filters(filters)
    start, end = wanted.start(TrimHorizon(), 0, NOW_MS), wanted.end(Latest(), NOW_MS)
    since = start.epoch_ms if isinstance(start, AtTimestamp) else 0
    until = end.epoch_ms if isinstance(end, AtTimestamp) else NOW_MS + 1
    first = next((n for n, ms in enumerate(times) if ms >= since), len(times))
    last = next((n for n, ms in enumerate(times) if ms >= until), len(times))
    assert matching <= (set() if wanted.is_nothing else set(range(first, last)))
