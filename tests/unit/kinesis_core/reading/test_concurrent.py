"""Reading many ranges at once: concurrency, order, and that no thread is left."""

from __future__ import annotations

import random
import threading
import weakref
from collections.abc import Iterator

import pytest
from attrs import define, field

from kinesis_core.budget import IN_FLIGHT, ByteBudget
from kinesis_core.clock import Clock
from kinesis_core.errors import AccessDeniedError
from kinesis_core.model import After, At, Page, RangeGroup, Record, ShardEnd, ShardRange
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.reading.concurrent import PAGES_AHEAD, ConcurrentReader
from support.fake_stream import FakeClock
from support.heavy_stream import HeavyStream, heavy_stream
from support.scripted_stream import ScriptedStream, scripted_stream, throttle
from support.waiting import PATIENCE_S, wait_until


def whole(stream: ScriptedStream, shard_id: str) -> ShardRange:
    records = stream.shards[shard_id].records
    return ShardRange(stream.name, shard_id, At(records[0].number), After(records[-1].number))


def filled(shards: int, records: int = 30) -> ScriptedStream:
    stream = scripted_stream(shards)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, records)
    return stream


def pages_of(
    stream: ScriptedStream, groups: list[RangeGroup], threads: int = 4, clock: Clock | None = None
) -> Iterator[tuple[ShardRange, Page]]:
    settings = ReadSettings(max_records_per_fetch=10, threads=threads)
    polling = PollingRangeReader(lambda _: stream, settings, random.Random(0))
    return read_concurrently(groups, polling, threads, clock or stream.clock)


def by_shard(pages: Iterator[tuple[ShardRange, Page]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for shard_range, page in pages:
        found.setdefault(shard_range.shard_id, []).extend(r.sequence_number for r in page.records)
    return found


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Check that every thread that a test started ends by itself."""
    yield
    for thread in [t for t in threading.enumerate() if t.name == "kinesis-read"]:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "a reading thread continued"


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_every_group_is_read(threads: int) -> None:
    """All ranges are read completely and in order, also with fewer threads than groups."""
    stream = filled(5)
    found = by_shard(pages_of(stream, [(whole(stream, s),) for s in stream.open_shards()], threads))
    assert found == {s: [r.sequence_number for r in stream.shards[s].records] for s in stream.shards}


def test_no_groups_give_no_pages() -> None:
    """Without groups reading ends at once."""
    assert list(pages_of(filled(1), [])) == []


def test_the_ranges_of_a_group_follow_each_other() -> None:
    """A child's first page comes after its parent's last one, whatever other groups do meanwhile."""
    stream = filled(3)
    parent, *others = stream.open_shards()
    children = stream.split(parent)
    for child in children:
        stream.put_many(child, 30)
    family = ShardRange(stream.name, parent, whole(stream, parent).start, ShardEnd())
    group = (family, *(whole(stream, child) for child in children))
    order = [r.shard_id for r, _ in pages_of(stream, [group, *((whole(stream, s),) for s in others)])]
    assert [s for s in order if s not in others] == [parent] * 3 + [children[0]] * 3 + [children[1]] * 3


@define
class Gate:
    """A stream whose calls wait until a number of threads is inside."""

    stream: ScriptedStream
    barrier: threading.Barrier

    def now_ms(self) -> int:
        return self.stream.now_ms()

    def get_iterator(self, shard_id: str, cut: At | After) -> str:
        self.barrier.wait(PATIENCE_S)
        return self.stream.get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        return self.stream.get_records(iterator, limit, with_data, shard_id)


def test_groups_are_read_concurrently() -> None:
    """As many groups as there are threads are read at the same time."""
    stream = filled(4)
    gate = Gate(stream, threading.Barrier(4))
    groups = [(whole(stream, s),) for s in stream.open_shards()]
    settings = ReadSettings(max_records_per_fetch=10)
    polling = PollingRangeReader(lambda _: gate, settings, random.Random(0))  # type: ignore[arg-type,return-value]
    pages = read_concurrently(groups, polling, 4, stream.clock)
    assert len(by_shard(pages)) == 4


def test_an_error_of_one_group_is_raised() -> None:
    """An error in one group ends the reading while others still have pages. It is raised unchanged."""
    stream = filled(2, 1000)
    bad, good = stream.open_shards()
    stream.fail("GetRecords", bad, [AccessDeniedError("not allowed", "AccessDeniedException")])
    groups: list[RangeGroup] = [(whole(stream, bad),), (whole(stream, good),)]
    with pytest.raises(AccessDeniedError, match="not allowed"):
        list(pages_of(stream, groups, 2))
    assert len(stream.calls_of("GetRecords", good)) < 100


def test_an_unknown_stream_is_raised() -> None:
    """An error while a stream is opened in a thread reaches the caller."""

    def unknown(name: str) -> ScriptedStream:
        raise LookupError(name)

    stream = filled(1)
    groups = [(whole(stream, s),) for s in stream.open_shards()]
    with pytest.raises(LookupError, match="orders"):
        list(
            read_concurrently(
                groups, PollingRangeReader(unknown, ReadSettings(), random.Random(0)), 8, stream.clock
            )
        )


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_closing_early_stops_the_threads(taken: int) -> None:
    """A caller that stops after some pages leaves no thread running, and few pages were read ahead."""
    stream = filled(3, 3000)
    pages = pages_of(stream, [(whole(stream, s),) for s in stream.open_shards()], 3)
    for _ in range(taken):
        next(pages)
    pages.close()  # type: ignore[attr-defined]
    for thread in [t for t in threading.enumerate() if t.name == "kinesis-read"]:
        thread.join(PATIENCE_S)
    assert len(stream.calls_of("GetRecords")) <= taken + PAGES_AHEAD + 2 * 3


@define
class Watched(FakeClock):
    """A clock that sets an event after many sleeps."""

    often: threading.Event = field(factory=threading.Event)
    times: int = 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.times += 1
        if self.times > 20:
            self.often.set()


@pytest.mark.parametrize("trouble", ["gap", "throttles"])
def test_closing_stops_a_thread_without_a_page(trouble: str) -> None:
    """A thread in an endless gap or an endless throttle ends when the caller stops."""
    stream = filled(2)
    good, bad = stream.open_shards()
    if trouble == "gap":
        stream.gaps[bad, 0] = 10**9
    else:
        stream.fail("GetRecords", bad, [throttle()] * 10**6)
    clock = Watched()
    pages = pages_of(stream, [(whole(stream, good),), (whole(stream, bad),)], 2, clock)
    assert len(by_shard(take(pages, 3))[good]) == 30
    assert clock.often.wait(PATIENCE_S)
    pages.close()  # type: ignore[attr-defined]


def take(pages: Iterator[tuple[ShardRange, Page]], count: int) -> Iterator[tuple[ShardRange, Page]]:
    for _ in range(count):
        yield next(pages)


PAGE_BYTES = 10 * 100
"""Of each page of a heavy stream."""


def heavy(shards: int = 4, records: int = 30) -> HeavyStream:
    stream = heavy_stream(shards)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, records, data=bytes(100))
    return stream


def reader_of(stream: HeavyStream, budget: ByteBudget, threads: int = 4) -> ConcurrentReader:
    polling = PollingRangeReader(lambda _: stream, ReadSettings(max_records_per_fetch=10), random.Random(0))
    groups = [(whole(stream, shard_id),) for shard_id in stream.open_shards()]
    return ConcurrentReader(groups, polling, threads, stream.clock, budget)


@pytest.mark.parametrize("limit_bytes", [1, PAGE_BYTES, 3 * PAGE_BYTES, 100 * PAGE_BYTES])
def test_pages_stay_within_a_budget(limit_bytes: int) -> None:
    """All is read, whatever the limit: one response after the other if it is smaller than one. In the end nothing is held."""
    stream, budget = heavy(), ByteBudget(limit_bytes)
    reader = reader_of(stream, budget)
    reader.start()
    found: dict[str, list[str]] = {}
    for shard_range, page in reader.pages():
        assert PAGE_BYTES <= budget.used_bytes <= max(limit_bytes, IN_FLIGHT * PAGE_BYTES) + PAGE_BYTES
        found.setdefault(shard_range.shard_id, []).extend(r.sequence_number for r in page.records)
    assert found == {s: [r.sequence_number for r in stream.shards[s].records] for s in stream.shards}
    assert budget.used_bytes == 0


def test_a_page_is_held_until_the_next_one_is_asked_for() -> None:
    """While the caller has a page that fills the budget, no other response is received."""
    stream, budget = heavy(), ByteBudget(1)
    reader = reader_of(stream, budget)
    reader.start()
    try:
        pages = reader.pages()
        for count in (1, 2, 3):
            next(pages)
            assert budget.used_bytes == PAGE_BYTES
            assert len(stream.asked) <= count + 4
    finally:
        reader.stop()


def test_closing_stops_threads_that_wait_for_room() -> None:
    """A caller that stops while no thread has room leaves no thread behind."""
    stream, budget = heavy(), ByteBudget(1)
    reader = reader_of(stream, budget)
    reader.start()
    next(reader.pages())
    wait_until(lambda: len(stream.asked) >= 4)
    reader.stop()


def test_an_error_gives_bytes_back() -> None:
    """A thread that ends with an error holds nothing that others wait for."""
    stream, budget = heavy(2), ByteBudget(1)
    bad, good = stream.open_shards()
    stream.fail("GetRecords", bad, [AccessDeniedError("not allowed", "AccessDeniedException")])
    reader = reader_of(stream, budget)
    reader.start()
    with pytest.raises(AccessDeniedError):
        list(reader.pages())
    reader.stop()
    for thread in [t for t in threading.enumerate() if t.name == "kinesis-read"]:
        thread.join(PATIENCE_S)
    assert len(stream.calls_of("GetRecords", good)) <= 3


def test_a_page_goes_when_its_caller_has_done() -> None:
    """A thread that waits for its next page does not keep the one before, which the caller has dropped."""
    stream, budget = heavy(1, 100), ByteBudget(1)
    reader = reader_of(stream, budget, 1)
    reader.start()
    pages, alive = reader.pages(), list[weakref.ref[list[Record]]]()
    try:
        for _ in range(3):
            _, page = next(pages)
            records = page.records = Kept(page.records)
            alive.append(weakref.ref(records))
            del page, records
        wait_until(lambda: [kept() is None for kept in alive] == [True, True, True])
    finally:
        reader.stop()


class Kept(list[Record]):
    """A list that can be watched."""
