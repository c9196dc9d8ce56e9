"""Producers of many streams that share threads and a buffer."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import define, field

from kinesis_core import Producer, ProducerSettings, PutError
from kinesis_core.clock import SteadyClock
from kinesis_core.errors import ProcessLimitError
from kinesis_core.model import PutEntry
from kinesis_core.producing import SenderGroup
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.dispatcher import first_map
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.sender import Sender, Stage
from support.fake_puts import FakePuts
from support.fake_stream import FakeClock
from support.waiting import PATIENCE_S
from unit.few_threads import FewThreads
from unit.kinesis_core.producing.numbered import break_down, deny

ROW_BYTES = 100


@define
class Desk:
    """Senders of several streams without threads. Time passes only when there is nothing to send."""

    settings: ProducerSettings
    connections: int = 8
    clock: FakeClock = field(factory=FakeClock)
    group: SenderGroup = field(init=False)
    senders: list[Sender] = field(factory=list)
    puts: list[FakePuts] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.group = SenderGroup(self.connections, self.clock)

    def open(self, streams: int, shards: int = 4) -> Desk:
        for number in range(streams):
            puts, rng = FakePuts().create(shards), random.Random(number)
            accumulator = RecordAccumulator.open(
                f"stream-{number}",
                first_map(puts, "orders", self.clock, rng, 1.0),
                self.settings,
                puts.max_record_bytes,
                rng,
                created_ms=puts.created_ms,
                buffer=self.group.buffer,
            )
            self.puts.append(puts)
            self.senders.append(Sender(puts, accumulator, self.clock, self.group))
        return self

    def put(self, stream: int, rows: Rows) -> None:
        """Put *rows*. Requests are sent while there is no room."""
        accumulator = self.senders[stream].accumulator
        left = accumulator.offer(accumulator.group(rows), self.clock.now)
        self.senders[stream].looks_at_s = -1.0
        while left:
            with self.group.lock, self.group.hurrying():
                self.step()
            left = accumulator.offer(left, self.clock.now)

    def step(self) -> None:
        """Send a request, or wait until one is due."""
        taken = self.group._take(self.clock.now)
        if taken is None:
            self.clock.sleep(0.05)
            return
        sender, call = taken
        sender.on_result(call, sender.make(call))
        sender.in_flight -= 1
        sender.looks_at_s = -1.0

    def finish(self) -> None:
        while self.group.buffer.held_bytes:
            self.step()


def rows(count: int, keys: int = 97) -> Rows:
    return Rows([bytes(ROW_BYTES)] * count, [f"key-{number % keys}" for number in range(count)], None)


def producer(puts: FakePuts, group: SenderGroup, **settings: Any) -> Producer:
    return Producer(puts, ProducerSettings(**settings), rng=random.Random(0), group=group)


def sending_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kinesis-put"]


def test_descriptions_of_many_streams() -> None:
    """200 streams are described in 19 seconds: at most 20 of them in any second, which is the quota, and one each."""
    clock, times = FakeClock(), []

    class Described(FakePuts):
        def describe(self, *, with_retries: bool = True) -> Any:
            times.append(clock.now)
            return super().describe(with_retries=with_retries)

    group = SenderGroup(8, clock)
    started_s = clock.now
    for _ in range(200):
        puts = Described().create(1)
        Producer(puts, clock=clock, group=group).abort()
        assert (puts.descriptions, puts.listings) == (1, 1)
    assert max(sum(at <= other < at + 1 for other in times) for at in times) <= 20
    assert 18 <= clock.now - started_s <= 20


@pytest.mark.parametrize("aggregated", [True, False])
def test_shared_buffer(aggregated: bool) -> None:
    """50 streams hold no more together than one may hold, and everything is written, also what open aggregates fill."""
    settings = ProducerSettings(
        aggregation_enabled=aggregated,
        buffer_bytes=50_000,
        record_max_buffered_time_s=3_600,
        record_ttl_s=14_400,
    )
    desk, held = Desk(settings).open(50), []
    started_s = desk.clock.now
    for turn in range(1_000):
        desk.put(turn % 50, rows(10))
        held.append(desk.group.buffer.held_bytes)
    assert 40_000 < max(held) < 50_000 + 10 * 2 * ROW_BYTES
    for sender in desk.senders:
        sender.seal()
    with desk.group.lock, desk.group.hurrying():
        desk.finish()
    assert [sum(puts.copies().values()) for puts in desk.puts] == [200] * 50
    assert desk.group.buffer.open_aggregate_bytes == 0
    assert desk.clock.now - started_s < 60, "nothing waits until it is due"


def test_known_keys() -> None:
    """The memory for keys does not grow with the number of streams."""
    desk = Desk(ProducerSettings()).open(64, shards=1)
    for turn in range(64):
        desk.put(turn, rows(3_000, keys=3_000))
    known = [len(sender.accumulator.router.known_keys) for sender in desk.senders]
    assert max(known) <= 65_536 / 64
    assert min(known) > 0


def test_turns() -> None:
    """A stream with few rows does not wait for one with many."""
    desk = Desk(ProducerSettings(aggregation_enabled=False, record_max_buffered_time_s=0.0)).open(2, shards=1)
    desk.put(0, rows(900))
    desk.put(1, rows(1))
    requests = [desk.group._take(desk.clock.now) for _ in range(3)]
    assert Counter(desk.senders.index(taken[0]) for taken in requests if taken) == {0: 2, 1: 1}


def test_slow_stream() -> None:
    """A stream that does not respond takes a half of the threads. Without another stream it takes all of them."""
    settings = ProducerSettings(aggregation_enabled=False, record_max_buffered_time_s=0.0)
    for streams, share in ((2, 4), (1, 8)):
        desk = Desk(settings, connections=8).open(streams, shards=10)
        desk.put(0, rows(5_000, keys=5_000))
        taken = [desk.group._take(desk.clock.now) for _ in range(9)]
        assert sum(found is not None for found in taken) == share


def test_one_set_of_threads() -> None:
    """Many producers have the threads of one. When the last of them is closed, the threads end."""
    before, group = len(sending_threads()), SenderGroup(3, SteadyClock())
    streams = [FakePuts().create(2) for _ in range(20)]
    producers = [producer(puts, group) for puts in streams]
    for writing in producers:
        writing.put(b"data")
    assert len(sending_threads()) - before == 3
    for writing in producers[1:]:
        assert writing.close().user_records == 1
    producers[0].put(b"more")
    assert producers[0].flush().user_records == 2
    assert len(sending_threads()) - before == 3
    producers[0].close()
    assert len(sending_threads()) == before
    again = producer(streams[0], group)
    again.put(b"again")
    assert again.close().user_records == 1
    assert len(sending_threads()) == before


def test_flush_of_many() -> None:
    """After `seal` a flush of one stream sends what the others have. It does not wait until that is due."""
    group = SenderGroup(2, SteadyClock())
    written = threading.Barrier(3)

    def meet(_: Sequence[PutEntry]) -> None:
        written.wait(PATIENCE_S)

    streams = [FakePuts(before_put=meet).create(1) for _ in range(2)]
    producers = [
        producer(puts, group, record_max_buffered_time_s=3_600, record_ttl_s=14_400) for puts in streams
    ]
    for writing in producers:
        writing.put(b"data")
    for writing in producers:
        writing.seal()
    flushing = threading.Thread(target=producers[0].flush)
    flushing.start()
    written.wait(PATIENCE_S)  # both requests are in flight
    flushing.join(PATIENCE_S)
    for writing in producers:
        writing.close()
    assert [puts.copies() for puts in streams] == [Counter([b"data"])] * 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("fail", [deny, break_down])
def test_failed_stream(fail: Callable[[Sequence[PutEntry]], None]) -> None:
    """The error of a stream is that stream's. Others are written, by the same threads."""
    group = SenderGroup(1, SteadyClock())
    bad, good = producer(FakePuts(before_put=fail).create(1), group), producer(FakePuts().create(1), group)
    bad.put(b"data")
    good.put(b"data")
    with pytest.raises(PutError, match="orders"):
        bad.flush()
    assert good.flush().user_records == 1
    good.put(b"more")
    assert good.close().user_records == 1
    bad.close()


class ClockWithoutMemory(SteadyClock):
    """Fails in the threads of a group, before they take a request."""

    def now_s(self) -> float:
        if threading.current_thread().name == "kinesis-put":
            raise MemoryError
        return super().now_s()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_lost_thread() -> None:
    """An error outside of a request ends its thread. All callers get it, and none of them waits for ever."""
    others = {*threading.enumerate()}
    group = SenderGroup(1, ClockWithoutMemory())
    producers = [producer(FakePuts().create(1), group) for _ in range(2)]
    for writing in producers:
        with pytest.raises(PutError, match="this process is out of memory"):
            put_and_flush(writing)
        writing.close()
    for thread in {*threading.enumerate()} - others:
        thread.join(PATIENCE_S)  # else pytest reports its error as one of the next test


def put_and_flush(writing: Producer) -> None:
    writing.put(b"data")
    writing.flush()


def test_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread nothing is put in any stream of a group."""
    FewThreads(0).allow(monkeypatch)
    writing = producer(FakePuts().create(1), SenderGroup(8, SteadyClock()))
    with pytest.raises(ProcessLimitError):
        writing.put(b"data")
    assert writing.close().user_records == 0


def test_the_end_waits_for_the_last_response() -> None:
    """After a failure nothing is held, but a request may be on its way: the process must not end before its response."""
    desk = Desk(ProducerSettings(record_max_buffered_time_s=0.0)).open(1, shards=1)
    sender = desk.senders[0]
    desk.put(0, rows(10))
    with desk.group.lock:
        assert desk.group._take(desk.clock.now) is not None
        sender.break_down(ZeroDivisionError())
        sender.reach(Stage.ENDING)
        assert sender.take(desk.clock.now) is None
        assert not sender.is_stopped
        sender.in_flight -= 1
        assert sender.take(desk.clock.now) is None
        assert sender.is_stopped
