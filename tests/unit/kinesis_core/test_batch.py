"""A batch as records, as Arrow and as pandas, and what its repr shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import ceil
from typing import Any

import pytest
from attrs import define, field

from kinesis_core import Batch, OptionError, PlanSettings, ReadSettings, Stream
from kinesis_core.model import SHARD_RATE_BYTES, Page
from kinesis_core.reading import DEFAULT_COLUMNS, PAGES_HELD
from support.aggregates import aggregate
from support.fake_stream import FakeClock
from support.scripted_stream import ScriptedStream, scripted_stream

A, B = "shardId-000000000000", "shardId-000000000001"
NAMES = [column.name for column in DEFAULT_COLUMNS]
SECRET = "do-not-tell"


@define
class Api(ScriptedStream):
    """A stream whose repr would be long and secret."""

    secret: str = field(default=SECRET)


@define
class Asked(ScriptedStream):
    """A stream that knows for how many records it was asked."""

    limits: list[int] = field(factory=list)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self.limits.append(limit)
        return super().get_records(iterator, limit, with_data, shard_id)


def asked(shards: int) -> Asked:
    """Return a stream with 200 records of 100 bytes in each shard."""
    fake = Asked(FakeClock())
    fake.create(shards)
    for shard_id in fake.shards:
        fake.put_many(shard_id, 200, data=b"x" * 100)
    fake.clock.now += 120
    return fake


def orders(records: int = 3, shards: int = 2) -> ScriptedStream:
    fake = scripted_stream(shards)
    for shard_id in (A, B)[:shards]:
        fake.put_many(shard_id, records)
    return fake


def stream_of(fake: ScriptedStream) -> Stream:
    settings = ReadSettings(threads=1)
    return Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), settings, fake.clock)


def batch_of(fake: ScriptedStream) -> Batch:
    return stream_of(fake).read("TRIM_HORIZON")


def test_arrow_has_the_rows_of_the_records() -> None:
    """A table has a row for each record, in the order of `records`."""
    batch = batch_of(orders())
    table = batch.to_arrow()
    assert table.column_names == NAMES
    assert table["sequenceNumber"].to_pylist() == [r.sequence_number for r in batch.records()]
    assert table.num_rows == 6


def test_pandas_has_the_rows_of_the_records() -> None:
    """A DataFrame has the columns of the table, with times in UTC."""
    batch = batch_of(orders())
    frame = batch.to_pandas()
    assert list(frame.columns) == NAMES
    assert list(frame["sequenceNumber"]) == [r.sequence_number for r in batch.records()]
    assert str(frame["approximateArrivalTimestamp"].dt.tz) == "UTC"


@pytest.mark.parametrize("convert", [Batch.to_arrow, Batch.to_pandas])
def test_columns_and_aggregates_are_chosen(convert: Callable[..., Any]) -> None:
    """Both take columns in any order, and leave aggregates as they are on request."""
    fake = scripted_stream()
    fake.put(A, aggregate([("k", None, b"1"), ("l", None, b"2")]))
    batch = batch_of(fake)
    assert convert(batch, ["partitionKey", "data"]).shape == (2, 2)
    assert convert(batch, ["data"], deaggregate=False).shape == (1, 1)


def test_an_empty_batch_has_columns() -> None:
    """The table of an empty batch has no rows, and the schema of any other batch."""
    full, empty = batch_of(orders()), batch_of(orders(records=0))
    assert empty.to_arrow().schema == full.to_arrow().schema
    assert empty.to_arrow().num_rows == len(empty.to_pandas()) == 0
    assert dict(empty.to_pandas(["shardId", "subSequenceNumber"]).dtypes) == dict(
        full.to_pandas(["shardId", "subSequenceNumber"]).dtypes
    )


@pytest.mark.parametrize("convert", [Batch.record_batches, Batch.to_arrow, Batch.to_pandas])
def test_a_wrong_column_is_an_error_at_once(convert: Callable[..., Any]) -> None:
    """The call itself raises, before anything is read."""
    fake = orders()
    batch = batch_of(fake)
    calls = len(fake.log)
    with pytest.raises(OptionError, match=r"Unknown column 'dat'\. Did you mean 'data'\?"):
        convert(batch, ["dat"])
    assert len(fake.log) == calls


@pytest.mark.parametrize(
    ("convert", "missing", "command"),
    [
        (Batch.record_batches, "pyarrow", r"pip install 'kinesis-core\[arrow\]'"),
        (Batch.to_arrow, "pyarrow", r"pip install 'kinesis-core\[arrow\]'"),
        (Batch.to_pandas, "pyarrow", r"pip install 'kinesis-core\[arrow\]'"),
        (Batch.to_pandas, "pandas", "pip install pandas"),
    ],
)
def test_a_missing_package_is_named(
    convert: Callable[..., Any], missing: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pyarrow or pandas the call raises an error with the command that installs it."""
    batch = batch_of(orders())
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {missing}: {command}$") as raised:
        convert(batch)
    assert raised.value.name == missing


def test_repr_of_a_batch() -> None:
    """It has the stream, the number of shards with records, and the latest time among their ends. A batch without records says so."""
    fake = orders()
    last = fake.put(B, b"last")
    assert last.arrived_ms == 1_790_000_000_000
    assert repr(batch_of(fake)) == "<Batch of orders: 2 shards, ends 2026-09-21 14:13:20 UTC>"
    one = stream_of(orders(shards=1)).read("TRIM_HORIZON")
    assert repr(one) == "<Batch of orders: 1 shard, ends 2026-09-21 14:13:20 UTC>"
    empty = batch_of(orders(records=0))
    assert repr(empty) == "<Batch of orders: no records, ends 2026-09-21 14:13:15 UTC>"


def test_repr_of_a_batch_shows_no_secret() -> None:
    """How the batch is read is no part of its repr."""
    fake = Api(scripted_stream().clock)
    fake.create(1).put(A, b"x")
    assert SECRET in repr(fake)
    assert SECRET not in repr(batch_of(fake))


def interleaved() -> ScriptedStream:
    """Return a stream whose shards take turns: records 0, 2, 4 in the first one, 1, 3, 5 in the second."""
    fake = scripted_stream(2)
    for number in range(6):
        fake.put_many((A, B)[number % 2], 1, every_s=1.0, data=str(number).encode())
    return fake


def test_records_by_arrival() -> None:
    """The shards of a batch are merged by arrival time if that is asked for."""
    batch = batch_of(interleaved())
    assert [r.data for r in batch.records(by_arrival=True)] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert sorted(r.data for r in batch.records()) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    lists = batch.record_lists(by_arrival=True)
    assert [r.data for records in lists for r in records] == [b"0", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize("shards", [2, 8])
def test_memory_of_a_merge(monkeypatch: pytest.MonkeyPatch, shards: int) -> None:
    """However many shards are merged, their pages together have about as much data."""
    monkeypatch.setattr("kinesis_core.batch.MERGED_BYTES", 64_000)
    monkeypatch.setattr("kinesis_core.batch._LEAST_PAGE_BYTES", 1)
    fake = asked(shards)
    batch = batch_of(fake)
    fake.limits.clear()  # those of the plan
    assert len(list(batch.records(by_arrival=True))) == shards * 200
    assert max(fake.limits) == ceil(64_000 / 100 / (shards * PAGES_HELD))


def test_pages_of_a_large_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are large enough for a shard's rate, which 5 calls a second must bring: of records of 100 bytes, for example."""
    monkeypatch.setattr("kinesis_core.batch.MERGED_BYTES", 1)
    fake = asked(2)
    batch = batch_of(fake)
    fake.limits.clear()  # those of the plan
    assert len(list(batch.records(by_arrival=True))) == 400
    assert max(fake.limits) * 100 * 5 >= SHARD_RATE_BYTES


def test_memory_of_other_reading() -> None:
    """Without a merge, a call asks for as many records as Kinesis returns."""
    fake = asked(2)
    batch = batch_of(fake)
    fake.limits.clear()  # those of the plan
    assert len(list(batch.records())) == 400
    assert set(fake.limits) == {10_000}


def test_children_by_arrival() -> None:
    """The children of a split shard are merged with each other, after their parent."""
    fake = scripted_stream(1)
    fake.put_many(A, 1, every_s=1.0, data=b"0")
    children = fake.split(A)
    for number in range(1, 5):
        fake.put_many(children[number % 2], 1, every_s=1.0, data=str(number).encode())
    assert [r.data for r in batch_of(fake).records(by_arrival=True)] == [b"0", b"1", b"2", b"3", b"4"]


def test_children_by_arrival_when_times_go_back() -> None:
    """A child comes after its parent, also if its records seem to have arrived before."""
    fake = scripted_stream(1)
    fake.put_many(A, 1, data=b"parent")
    (left, _), fake.clock.now = fake.split(A), fake.clock.now - 60
    fake.put_many(left, 1, data=b"child")
    fake.clock.now += 120
    assert [r.data for r in batch_of(fake).records(by_arrival=True)] == [b"parent", b"child"]


def test_more_shards_than_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of more shards than can be merged still has all records, in the order of each shard."""
    monkeypatch.setattr("kinesis_core.batch.MERGED_RANGES", 1)
    found = [r.data for r in batch_of(interleaved()).records(by_arrival=True)]
    assert sorted(found) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert [data for data in found if int(data) % 2 == 0] == [b"0", b"2", b"4"]


def test_a_part_of_a_batch() -> None:
    """A batch can be narrowed to some shards. Its offset stays that of the whole batch."""
    batch = batch_of(interleaved())
    part = batch.of_shards([B])
    assert [r.data for r in part.records()] == [b"1", b"3", b"5"]
    assert part.offset == batch.offset
    assert list(batch.of_shards([]).records()) == []
