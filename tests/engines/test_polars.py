"""Kinesis as a source of Polars: what a query does not need is not read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest
from attrs import define, field

from kinesis_core import OptionError, Stream, StreamNotFoundError
from kinesis_core.planning import Wanted
from kinesis_core.polars import scan_kinesis, wanted_by
from kinesis_core.reading.arrow import BatchBuilder
from kinesis_emulator import Emulator, Request
from support.streams import connection_to

pytestmark = pytest.mark.engines

arrived, shard = pl.col("approximateArrivalTimestamp"), pl.col("shardId")
NINE = datetime(2026, 1, 31, 9, tzinfo=timezone.utc)
NINE_MS = int(NINE.timestamp() * 1000)
HOURS = [str(hours).encode() for hours in range(20, 0, -1)]


@define
class Asked:
    """The parameters of all requests for records. It is an emulator's `settings.fault`."""

    starts: list[float] = field(factory=list)
    limits: list[int] = field(factory=list)
    plans: int = 0

    def __call__(self, request: Request) -> None:
        if "Timestamp" in request.params:
            self.starts.append(request.params["Timestamp"])
        self.plans += request.action == "ListShards"
        if request.action == "GetRecords":
            self.limits.append(request.params["Limit"])


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


def opened(emulator: Emulator, name: str) -> Stream:
    return Stream.open(name, **connection_to(emulator.endpoint_url))


@pytest.fixture
def hours(emulator: Emulator) -> Stream:
    """A stream of one shard with a record for each of the last 20 hours."""
    emulator.create_stream("hours")
    now_s = time.time()
    for data in HOURS:
        emulator.put("hours", data, arrived_s=now_s - int(data) * 3600)
    return opened(emulator, "hours")


def ago(hours: float) -> datetime:
    return datetime.now(timezone.utc) - timedelta(hours=hours)


def data(frame: pl.LazyFrame) -> list[bytes]:
    return list(frame.collect()["data"])


def test_a_frame_has_the_columns_of_a_batch(hours: Stream) -> None:
    """A frame has the rows, columns and types of the batch's Arrow table."""
    frame = scan_kinesis(hours)
    expected = pl.DataFrame(hours.read().to_arrow())
    assert frame.collect_schema() == expected.schema
    assert frame.collect().equals(expected)
    assert frame.collect(engine="streaming").equals(expected)


def test_a_frame_is_read_when_it_is_collected(emulator: Emulator, hours: Stream) -> None:
    """A record that is put after `scan_kinesis` is in the frame."""
    frame = scan_kinesis(hours, "LATEST")
    start = hours.read().offset
    resumed = scan_kinesis(hours, start)
    emulator.put("hours", b"new")
    assert data(resumed) == [b"new"]
    assert data(frame) == []


def test_a_query_reads_a_stream_once(emulator: Emulator, hours: Stream) -> None:
    """A frame that a query names twice is read once by the engine that removes common parts of a plan."""
    emulator.settings.fault = asked = Asked()
    frame = scan_kinesis(hours)
    assert pl.concat([frame, frame]).collect(engine="in-memory").height == 2 * len(HOURS)
    assert asked.plans == 1


def test_conditions_on_times_move_start_and_end(emulator: Emulator, hours: Stream) -> None:
    """A read begins and ends a minute outside of the times of a condition."""
    emulator.settings.fault = asked = Asked()
    since, until = ago(5.5), ago(2.5)
    found = scan_kinesis(hours).filter((arrived >= since) & (arrived < until))
    assert data(found) == [b"5", b"4", b"3"]
    assert min(asked.starts) == pytest.approx(since.timestamp() - 60, abs=0.01)
    batch = hours._read("TRIM_HORIZON", "LATEST", wanted_by((arrived >= since) & (arrived < until)))
    assert [record.data for record in batch.records()] == [b"5", b"4", b"3"]


def test_conditions_on_shards_leave_the_others_out(emulator: Emulator) -> None:
    """A shard that the conditions exclude is planned and not read. Without any shard there is no call."""
    emulator.create_stream("two", 2)
    stream = opened(emulator, "two")
    first, second = (each.shard_id for each in stream.shards())
    for number in range(20):
        emulator.put("two", str(number), partition_key=str(number))
    whole = scan_kinesis(stream, columns=["shardId", "data"])
    assert whole.filter(shard == first).collect().equals(whole.collect().filter(shard == first))
    batch = stream._read("TRIM_HORIZON", "LATEST", wanted_by(shard.is_in([second])))
    assert {record.shard_id for record in batch.records()} == {second}
    emulator.settings.fault = asked = Asked()
    assert whole.filter(shard == first, shard == second).collect().is_empty()
    assert not asked.limits


def test_only_the_columns_of_a_query_are_built(hours: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars' projection is the list of columns that are built."""
    built = []
    original = BatchBuilder.__init__

    def spy(self: BatchBuilder, columns: Any, deaggregate: bool = True) -> None:
        built.append(list(columns))
        original(self, columns, deaggregate)

    frame = scan_kinesis(hours)
    monkeypatch.setattr(BatchBuilder, "__init__", spy)
    assert data(frame.filter(arrived > ago(1.5)).select("data")) == [b"1"]
    assert [sorted(columns) for columns in built] == [["approximateArrivalTimestamp", "data"]]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_head_reads_no_more(emulator: Emulator, hours: Stream, engine: Any) -> None:
    """`head(n)` requests pages of n records, and ends after n. A condition after it applies to these, and one before it to all."""
    emulator.settings.fault = asked = Asked()
    frame = scan_kinesis(hours)
    assert frame.head(3).collect(engine=engine)["data"].to_list() == HOURS[:3]
    assert asked.limits[-1] == 3  # after those of the plan
    assert frame.head(3).filter(arrived > ago(17.5)).collect(engine=engine).is_empty()
    assert frame.filter(arrived > ago(3.5)).head(2).collect(engine=engine)["data"].to_list() == [b"3", b"2"]
    assert frame.head(0).collect(engine=engine).is_empty()


def test_errors_are_those_of_a_read(emulator: Emulator, hours: Stream) -> None:
    """`collect` raises the errors of ours, and a wrong column is an error at once."""
    with pytest.raises(OptionError, match="is after its end"):
        scan_kinesis(hours, "1h ago", "2h ago").collect()
    assert scan_kinesis(hours, "1.5h ago").filter(arrived < ago(3)).collect().is_empty()
    with pytest.raises(OptionError, match="Did you mean 'shardId'"):
        scan_kinesis(hours, columns=["shardid"])
    emulator.delete_stream("hours")
    with pytest.raises(StreamNotFoundError):
        scan_kinesis(hours).collect()


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (arrived >= NINE, Wanted(since_ms=NINE_MS)),
        (arrived > NINE, Wanted(since_ms=NINE_MS + 1)),
        (arrived < NINE, Wanted(until_ms=NINE_MS)),
        (arrived <= NINE, Wanted(until_ms=NINE_MS + 1)),
        (arrived == NINE, Wanted(NINE_MS, NINE_MS + 1)),
        (arrived.is_between(NINE, NINE, closed="left"), Wanted(NINE_MS, NINE_MS)),
        (arrived.is_between(NINE, NINE, closed="right"), Wanted(NINE_MS + 1, NINE_MS + 1)),
        (arrived.is_in([NINE, NINE + timedelta(seconds=1), None]), Wanted(NINE_MS, NINE_MS + 1001)),
        (arrived.is_in(pl.Series([NINE])), Wanted(NINE_MS, NINE_MS + 1)),
        (
            (arrived > NINE) & (pl.col("data") == b"") & (shard == "a"),
            Wanted(NINE_MS + 1, None, frozenset("a")),
        ),
        (pl.col("streamName").is_in(["x", "y"]), Wanted(streams=frozenset("xy"))),
        ((arrived > NINE) | (shard == "a"), Wanted()),
        (~(arrived > NINE), Wanted()),
        (arrived != NINE, Wanted()),
        (arrived.eq_missing(pl.lit(None)), Wanted()),
        (arrived.is_in([NINE], nulls_equal=True), Wanted()),
        (arrived == pl.Series([NINE, NINE]), Wanted()),
        (arrived > NINE.replace(tzinfo=None), Wanted()),
        (arrived.shift(1) > NINE, Wanted()),
        (arrived > arrived.mean(), Wanted()),
        (shard > "a", Wanted()),
        (pl.lit(True), Wanted()),
        (pl.lit(2**62).cast(pl.Datetime("us", "UTC")) < arrived, Wanted()),
    ],
)
def test_what_a_predicate_says(predicate: pl.Expr, expected: Wanted) -> None:
    """Comparisons of the three columns with values are understood, joined by `&`. Any other form says nothing."""
    assert wanted_by(predicate) == expected
