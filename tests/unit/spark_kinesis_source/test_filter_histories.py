"""Batch reads that are narrowed by the conditions of a query, over generated histories of streams: no row is missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import chain
from typing import Any

import pytest
from attrs import define, frozen
from hypothesis import example, given, settings, strategies as st

from kinesis_core.errors import DataLossError, KinesisError, OptionError
from kinesis_core.model import AtTimestamp, Cut, Record
from kinesis_core.planning import Planner
from kinesis_core.reading import PollingRangeReader
from kinesis_core.shards import MARGIN_MS
from property.histories import reshard
from spark_kinesis_source import default_schema
from spark_kinesis_source.batch_reader import FilteringBatchReader
from spark_kinesis_source.options import SourceOptions
from support.examples import examples
from support.fake_stream import FakeClock, FakeShard, FakeStream, Mood

sources = pytest.importorskip("pyspark.sql.datasource")
if not hasattr(sources, "EqualTo"):
    pytest.skip("Spark 4.0 pushes no filters", allow_module_level=True)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
HOUR_S = 3600
RETENTION_HOURS = 24
TIME, SHARD, STREAM = "approximateArrivalTimestamp", "shardId", "streamName"
STREAMS = ("orders", "teas")
A, B, C = (f"shardId-{number:012d}" for number in range(3))
OFF_MS = (0, MARGIN_MS // 2, -MARGIN_MS // 2)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda given, value: given == value,
    "EqualNullSafe": lambda given, value: given == value,
    "In": lambda given, values: given in values,
    "GreaterThan": lambda given, value: given > value,
    "GreaterThanOrEqual": lambda given, value: given >= value,
    "LessThan": lambda given, value: given < value,
    "LessThanOrEqual": lambda given, value: given <= value,
}
Row = dict[str, Any]
"""The columns of a record that conditions may name, and its sequence number."""
Key = tuple[str, str, int]
Step = tuple[Any, ...]


@define
class Stream(FakeStream):
    """A stream whose times are out of order by up to the margin."""

    begins_late: bool = False
    """Whether a read from a time begins at the last place where the times pass it, and not at the first."""

    def put(self, shard_id: str, data: bytes, key: str | None = "k") -> Record:
        record = super().put(shard_id, data, key)
        record.arrived_s = (self.now_ms() + self.rng.choice(OFF_MS)) / 1000
        return record

    def _index(self, shard: FakeShard, cut: Cut) -> int:
        if not (self.begins_late and isinstance(cut, AtTimestamp)):
            return super()._index(shard, cut)
        earlier = [i for i, record in enumerate(shard.records) if (record.arrived_ms or 0) < cut.epoch_ms]
        return earlier[-1] + 1 if earlier else 0


@frozen
class History:
    """What happens before a read. The same history leads to the same streams, at the same time."""

    mood: Mood
    begins_late: bool
    shards: int
    steps: Sequence[Step]
    seed: int

    def streams(self) -> dict[str, Stream]:
        clock = FakeClock()
        clock.now += self.seed / 1000  # not only whole seconds
        streams = {
            name: Stream(
                clock,
                random.Random(self.seed),
                self.mood,
                name,
                retention_hours=RETENTION_HOURS,
                begins_late=self.begins_late,
            )
            for name in STREAMS
        }
        for stream in streams.values():
            stream.forgets, stream.created_ms = True, stream.now_ms()
            stream.create(self.shards)
        for step in self.steps:
            match step:
                case ("wait", seconds):
                    clock.sleep(seconds)
                case ("put", name, where, count, every_s):
                    for _ in range(count):
                        shards = streams[name].open_shards()
                        streams[name].put(shards[where % len(shards)], b"x")
                        clock.sleep(every_s)
                case (kind, name, where):
                    reshard(streams[name], kind, where)
        return streams


def rows_of(streams: dict[str, Stream]) -> list[Row]:
    """Return all records that were ever in the streams."""
    return [
        row_of(name, shard.shard_id, record)
        for name, stream in streams.items()
        for shard in (*stream.shards.values(), *stream.gone.values())
        for record in shard.records
    ]


def row_of(stream: str, shard_id: str, record: Record) -> Row:
    return {STREAM: stream, SHARD: shard_id, TIME: at(record.arrived_ms or 0), "number": record.number}


def at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


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


moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    end_page_of_its_own=st.booleans(),
)
names = st.sampled_from(STREAMS)
puts = st.tuples(
    st.just("put"),
    names,
    st.integers(0, 2),
    st.integers(5, 20),
    st.sampled_from([0.0, 0.0, 0.01, 9.0, 45.0]),
)
short_waits = st.tuples(st.just("wait"), st.sampled_from([40.0, 900.0]))
# No sum of them is near the retention: no record expires while it is read.
long_waits = st.tuples(st.just("wait"), st.sampled_from([7.0 * HOUR_S, 25.0 * HOUR_S]))
reshards = st.tuples(st.sampled_from(["split", "merge"]), names, st.integers(0, 2))
steps = st.lists(st.one_of(puts, puts, short_waits, reshards, reshards, long_waits), max_size=8)
histories = st.builds(
    History,
    moods,
    st.booleans(),
    st.integers(1, 2),
    st.builds(lambda first, steps, last: [first, *steps, last], puts, steps, short_waits),
    st.integers(0, 2**16),
)

offsets_us = st.sampled_from([0, 0, 0, 0, 1, -1, 1000, -1000, 10**7, 10**9, -(10**9), 10**13, -(10**13)])
times = st.tuples(st.integers(0, 200), offsets_us)
"""A record, by its number among all, and how many microseconds after its arrival."""
shard_ids = st.sampled_from([A, B, C, "other"])
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
