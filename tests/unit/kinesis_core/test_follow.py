"""Following a stream up to a limit, as batches and as Arrow."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from threading import RLock
from typing import Any

import pyarrow as pa
import pytest
from attrs import define, field

from kinesis_core import AtTimestamp, DataLossError, Limits, OptionError, PlanSettings, ReadSettings, Stream
from kinesis_core.follow import Follow, HeldPages
from kinesis_core.model import After, At, Cut, Page, RangeGroup, Record, ShardRange
from support.aggregates import aggregate
from support.fake_stream import FakeClock
from support.scripted_stream import ScriptedStream
from support.waiting import wait_until

A, B = "shardId-000000000000", "shardId-000000000001"


@define
class LockedStream(ScriptedStream):
    """A stream that a thread may still read when another follow begins."""

    lock: RLock = field(factory=RLock)

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        with self.lock:
            return super().get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        with self.lock:
            return super().get_records(iterator, limit, with_data, shard_id)


def empty_stream(shards: int = 1) -> ScriptedStream:
    fake = LockedStream(FakeClock())
    fake.create(shards)
    return fake


def stream_of(fake: ScriptedStream, records_a_page: int = 10) -> Stream:
    settings = ReadSettings(threads=1, max_records_per_fetch=records_a_page)
    return Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), settings, fake.clock)


def numbered(fake: ScriptedStream, count: int, shard_id: str = A, first: int = 0) -> ScriptedStream:
    """Put records of two bytes each: 10, 11, 12, ..."""
    for number in range(first, first + count):
        fake.put(shard_id, b"%d" % (10 + number))
    return fake


def as_batches(follow: Follow) -> list[bytes]:
    return [record.data for batch in follow for record in batch.records()]


def as_arrow(follow: Follow) -> list[bytes]:
    return list(pa.table(follow)["data"].to_pylist())


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


@pytest.mark.parametrize("read", [as_batches, as_arrow])
def test_it_ends_after_some_records(read: Any) -> None:
    """It has as many records as asked for, and the next one continues after them, in the middle of a page and of a plan."""
    stream = stream_of(numbered(empty_stream(), 60))
    first = stream.follow("TRIM_HORIZON", max_records=25)
    assert read(first) == numbers(10, 35)
    second = stream.follow(first.offset or {}, max_records=35)
    assert read(second) == numbers(35, 70)


@pytest.mark.parametrize("read", [as_batches, as_arrow])
def test_it_ends_after_some_bytes(read: Any) -> None:
    """It ends before the record that would be more. The data counts although no column has it."""
    stream = stream_of(numbered(empty_stream(), 60))
    first = stream.follow("TRIM_HORIZON", max_bytes=51)
    assert read(first) == numbers(10, 35)
    second = stream.follow(first.offset or {}, max_bytes=4)
    assert second.to_arrow(["sequenceNumber"], deaggregate=False).num_rows == 2


@pytest.mark.parametrize("read", [as_batches, as_arrow])
def test_a_record_that_is_larger_than_the_limit(read: Any) -> None:
    """It is delivered alone, if it is the first one: the next follow would not come past it."""
    fake = empty_stream()
    for data in (b"1", b"22222", b"3", b"44"):
        fake.put(A, data)
    stream, found, offset = stream_of(fake), list[list[bytes]](), None
    for _ in range(3):
        follow = stream.follow(offset or "TRIM_HORIZON", max_bytes=2)
        found.append(read(follow))
        offset = follow.offset
    assert found == [[b"1"], [b"22222"], [b"3"]]


def test_it_ends_after_some_time() -> None:
    """It ends on an idle stream too. A record that comes between two of them is in the second one."""
    fake = empty_stream()
    stream = stream_of(fake)
    first = stream.follow(max_seconds=5)
    assert first.offset is None
    started_s = fake.clock.now
    assert list(first) == []
    assert started_s + 5 <= fake.clock.now <= started_s + 6
    numbered(fake, 1)
    second = stream.follow(first.offset or {}, max_seconds=5)
    assert as_batches(second) == [b"10"]


def test_time_ends_it_inside_a_plan() -> None:
    """A backlog is read for so long, page by page. What was left over comes first in the next one: no shard waits for ever."""
    fake = empty_stream(2)
    numbered(fake, 1000), numbered(fake, 1000, B, 1000)
    stream = stream_of(fake)
    first = stream.follow("TRIM_HORIZON", max_seconds=15)
    found = as_batches(first)
    assert found == numbers(10, 10 + len(found))
    assert 10 <= len(found) < 1000
    second = stream.follow(first.offset or {}, max_seconds=15)
    assert as_batches(second)[0] == b"1010"


@pytest.mark.parametrize("limits", [{"max_records": 20}, {"max_bytes": 80}])
def test_a_limit_is_divided_among_the_shards(limits: dict[str, Any]) -> None:
    """The plan knows of the limit: each shard has a part of it."""
    fake = empty_stream(2)
    numbered(fake, 500), numbered(fake, 500, B)
    follow = stream_of(fake).follow("TRIM_HORIZON", **limits)
    shards = [record.shard_id for batch in follow for record in batch.records()]
    assert min(shards.count(A), shards.count(B)) >= 5


def test_the_limits_of_a_batch_remain() -> None:
    """A follow with a larger limit of its own plans batches within those of the stream."""
    fake = numbered(empty_stream(), 60)
    settings = PlanSettings(batch_limits=Limits(max_records=5))
    stream = Stream("orders", "eu-west-1", "orders", fake, settings, ReadSettings(threads=1), fake.clock)
    batches = list(stream.follow("TRIM_HORIZON", max_records=20))
    assert [len(list(batch.records())) for batch in batches] == [5, 5, 5, 5]


def test_its_batches_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit, a batch ends once it has some data. It was read before it is yielded, and has the offset of its own end."""
    monkeypatch.setattr("kinesis_core.follow.HELD_BYTES", 30)
    fake = numbered(empty_stream(), 60)
    stream = stream_of(fake)
    before = set(threading.enumerate())
    batches = list(stream.follow("TRIM_HORIZON", max_records=45))
    wait_until(lambda: set(threading.enumerate()) <= before)
    calls = len(fake.log)
    assert [len(list(batch.records())) for batch in batches] == [20, 20, 5]
    assert [batch.to_arrow().num_rows for batch in batches] == [20, 20, 5]
    assert list(batches[0].of_shards([B]).records()) == []
    assert len(fake.log) == calls
    third = stream.follow(batches[1].offset, max_records=100, max_seconds=9)
    assert as_batches(third) == numbers(50, 70)


@pytest.mark.parametrize("read", [as_batches, as_arrow])
def test_it_begins_inside_an_aggregate(read: Any) -> None:
    """An aggregate is one record. It is not divided, and the user records that another reader has read do not come."""
    fake = empty_stream()
    first = fake.put(A, aggregate([("k", None, b"0"), ("k", None, b"1"), ("k", None, b"2")]))
    fake.put(A, aggregate([("k", None, b"3"), ("k", None, b"4")]))
    stream = stream_of(fake)
    offset = stream.read("TRIM_HORIZON", "LATEST").offset
    offset["streams"]["orders"]["shards"][A] = {"AT": first.sequence_number, "skip": 1}
    follow = stream.follow(offset, max_records=1)
    assert read(follow) == [b"1", b"2"]
    assert read(stream.follow(follow.offset or {}, max_records=1)) == [b"3", b"4"]


def shards_of(offset: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    assert offset is not None
    return dict(offset["streams"]["orders"]["shards"])


def test_a_parent_is_finished_once_a_child_is_read() -> None:
    """The offset says so, although the child's plan is not done: a day later the parent may have left the stream."""
    fake = numbered(empty_stream(), 4)
    numbered(fake, 20, fake.split(A)[0], 4)
    fake.clock.sleep(60)
    follow = stream_of(fake).follow("TRIM_HORIZON", AtTimestamp(fake.now_ms() - 1), max_records=14)
    assert as_batches(follow) == numbers(10, 24)
    assert shards_of(follow.offset)[A]["SHARD_END"]


def test_a_shard_without_records_is_as_fresh_as_in_a_plan() -> None:
    """Where a limit ends a follow inside a plan, the other shards have the time at which the plan saw that they are empty."""
    fake = numbered(numbered(empty_stream(2), 1, B), 60, A)
    stream = stream_of(fake)
    start = stream.read("TRIM_HORIZON", "LATEST").offset
    fake.clock.sleep(3600)
    numbered(fake, 60)
    follow = stream.follow(start, max_seconds=900)
    next(follow.record_batches())
    assert shards_of(follow.offset)[B]["empty_until"] >= fake.now_ms() - 900_000
    assert shards_of(follow.offset)[A]["arrived"] > shards_of(start)[A]["arrived"]


@pytest.mark.parametrize("read", [as_batches, as_arrow])
@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_it_ends_between_a_parent_and_its_children(read: Any, size: int) -> None:
    """A plan that ends at a time holds both. Wherever the limit is, each record comes once, and children come after their parent."""
    fake = numbered(empty_stream(1), 4)
    left, right = fake.split(A)
    numbered(fake, 4, left, 4), numbered(fake, 4, right, 8)
    until = AtTimestamp(fake.now_ms() + 1)
    fake.clock.sleep(60)
    stream, found, offset = stream_of(fake), list[bytes](), None
    for _ in range(12):
        follow = stream.follow(offset or "TRIM_HORIZON", until, max_records=size)
        found += read(follow)
        offset = follow.offset
    assert sorted(found) == numbers(10, 22)
    assert found[:4] == numbers(10, 14)


def test_arrow_comes_as_records_come() -> None:
    """An engine has a page before the next record is put."""
    fake = numbered(empty_stream(), 1)
    stream = stream_of(fake)
    follow = stream.follow("TRIM_HORIZON", max_records=2)
    reader = pa.RecordBatchReader.from_stream(follow)
    assert reader.read_next_batch()["data"].to_pylist() == [b"10"]
    numbered(fake, 2, first=1)
    assert reader.read_all()["data"].to_pylist() == [b"11"]


def test_without_a_limit_arrow_comes_as_well() -> None:
    """An engine takes what it needs and leaves. Its threads end, and the offset is after the record batches that it took."""
    before = set(threading.enumerate())
    fake = numbered(empty_stream(), 60)
    stream = stream_of(fake)
    follow = stream.follow("TRIM_HORIZON")
    reader = pa.RecordBatchReader.from_stream(follow)
    assert reader.read_next_batch().num_rows == 10
    reader.close()
    wait_until(lambda: set(threading.enumerate()) <= before)
    assert as_batches(stream.follow(follow.offset or {}, max_records=50)) == numbers(20, 70)


@pytest.mark.parametrize("limits", [{}, {"max_records": 100}])
@pytest.mark.parametrize("leave", ["close", "drop"])
def test_a_reader_of_batches_may_leave(limits: dict[str, Any], leave: str) -> None:
    """The threads end."""
    before = set(threading.enumerate())
    follow: Any = stream_of(numbered(empty_stream(), 60)).follow("TRIM_HORIZON", **limits)
    assert next(next(follow).records()).data == b"10"
    if leave == "close":
        follow.close()
    else:
        del follow
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_it_is_read_once() -> None:
    """A second reading says so. To ask for the schema, as engines do first, reads nothing."""
    stream = stream_of(numbered(empty_stream(), 3))
    follow = stream.follow("TRIM_HORIZON", max_records=3)
    assert pa.RecordBatchReader.from_stream(follow).schema == follow.to_reader().schema
    assert pa.table(follow).num_rows == 3
    with pytest.raises(
        pa.ArrowInvalid, match=r"(?s)This follow has been read\. .* with its offset as start\."
    ):
        pa.table(follow)
    with pytest.raises(RuntimeError, match="as batches or as Arrow"):
        next(follow)


def test_batches_that_were_planned_are_read_by_their_owner() -> None:
    """Without a limit, as ever: nothing is read before the batch is, and the offset of both is the same."""
    fake = numbered(empty_stream(), 60)
    follow = stream_of(fake).follow("TRIM_HORIZON")
    batch = next(follow)
    fake.served = 0
    assert len(list(batch.records())) == 60
    assert fake.served >= 60
    assert follow.offset == batch.offset
    assert repr(follow) == "<Follow of orders>"


@pytest.mark.parametrize("name", ["max_records", "max_bytes", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_is_above_0(name: str, value: float) -> None:
    """Another one is refused at once, by its name."""
    with pytest.raises(OptionError, match=f"^{name} is {value}. Use a number above 0, or None for no limit."):
        stream_of(empty_stream()).follow(**{name: value})  # type: ignore[arg-type]


RANGE = ShardRange("orders", A, At(1), After(2))


def again(groups: Sequence[RangeGroup], _with_data: bool, _bytes: float) -> Iterator[tuple[ShardRange, Page]]:
    """Read a page that is not the one in memory."""
    for group in groups:
        for part in group:
            yield part, Page([Record("2")], 0)


def test_a_pickled_batch_is_read_again() -> None:
    """The pages in memory stay in their process."""
    held = HeldPages({A: [Page([Record("1", b"secret")], 0)]}, again)
    assert [page.records[0].number for _, page in held.read([(RANGE,)], True, 1)] == [1]
    pickled = pickle.dumps(held.read)
    assert b"secret" not in pickled
    copy = pickle.loads(pickled)  # noqa: S301 # our own
    assert [page.records[0].number for _, page in copy([(RANGE,)], True, 1)] == [2]


@pytest.mark.parametrize("read", [as_batches, as_arrow])
def test_records_before_an_error_come_again(read: Any) -> None:
    """A batch that an error keeps back does not count as read, and neither does the page that the error is about."""
    fake = numbered(empty_stream(), 30)
    stream = stream_of(fake)
    follow = stream.follow("TRIM_HORIZON", max_records=30)
    reads = follow._following._read

    def fails(*arguments: Any) -> Iterator[tuple[ShardRange, Page]]:
        yield from islice(reads(*arguments), 1)
        raise DataLossError("Records expired")

    follow._following._read = fails
    with pytest.raises((DataLossError, pa.ArrowInvalid), match="Records expired"):
        read(follow)
    rest = as_batches(stream.follow(follow.offset or {}, max_records=20, max_seconds=9))
    assert rest[0] == (b"10" if read is as_batches else b"20")
