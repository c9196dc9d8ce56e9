from __future__ import annotations

import gc
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kinesis_core import (
    AccessDeniedError,
    InvalidRecordError,
    Producer,
    ProducerClosedError,
    ProducerSettings,
    PutError,
    Totals,
)
from kinesis_core.model import PutEntry, PutResponse
from kinesis_core.producing.sender import _LONGEST_SLEEP_S
from kinesis_core.termination import TERMINATION, Termination
from support.fake_puts import FakePuts, FaultRates
from support.waiting import PATIENCE_S, wait_until
from unit.kinesis_core.producing.numbered import break_down, deny


def producer(puts: FakePuts, **settings: Any) -> Producer:
    return Producer(puts, ProducerSettings(**settings), rng=random.Random(0))


class Gate:
    """Delays requests until it is opened, and waits for so many of them."""

    def __init__(self, expected: int) -> None:
        self._open = threading.Event()
        self._arrived = threading.Semaphore(0)
        self._expected = expected

    def __call__(self, _: Sequence[PutEntry]) -> None:
        self._arrived.release()
        assert self._open.wait(PATIENCE_S)

    def wait_for_requests(self) -> None:
        for _ in range(self._expected):
            assert self._arrived.acquire(timeout=PATIENCE_S)

    def open(self) -> None:
        self._open.set()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_what_is_put_is_in_the_stream_after_a_flush() -> None:
    """User records may be put one by one or in columns, with keys, explicit hash keys, or neither."""
    puts = FakePuts().create(3)
    with producer(puts) as writing:
        writing.put(b"1", "key")
        writing.put(b"2", "key", "17")
        writing.put(b"3")
        writing.put_columns([b"4", b"5"])
        writing.put_columns([b"6", b"7"], ["key", None], [None, "5"])
        writing.put_columns([])
        totals = writing.flush()
        assert totals.user_records == 7
        assert writing.flush() == Totals()
    found = {record.data: record for record in puts.user_records()}
    assert len(found) == 7
    assert (found[b"1"].partition_key, found[b"2"].explicit_hash_key) == ("key", "17")
    assert len(found[b"3"].partition_key) == 16
    assert found[b"7"].explicit_hash_key == "5"


def test_records_go_out_without_a_flush() -> None:
    """A thread sends records when they are due."""
    gate = Gate(1)
    puts = FakePuts(before_put=gate).create(1)
    writing = producer(puts, record_max_buffered_time_s=0.01)
    writing.put(b"data")
    gate.wait_for_requests()
    gate.open()
    assert writing.close().user_records == 1


def test_leaving_the_block_flushes() -> None:
    """Leaving the block by an error flushes too: the records were accepted."""
    puts = FakePuts().create(1)

    def work() -> None:
        with producer(puts) as writing:
            writing.put(b"data")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert puts.copies() == Counter([b"data"])


def test_a_closed_producer_accepts_nothing() -> None:
    """A closed producer raises an error. Closing it again is harmless."""
    writing = producer(FakePuts().create(1))
    assert writing.close() == Totals()
    assert writing.close() == Totals()
    with pytest.raises(ProducerClosedError, match="producer of stream orders is closed"):
        writing.put(b"data")
    with pytest.raises(ProducerClosedError, match="producer of stream orders is closed"):
        writing.flush()


def test_a_producer_that_closes_accepts_nothing() -> None:
    """Earlier records are written. Callers that put meanwhile, or wait for room, get an error."""
    gate = Gate(1)
    puts = FakePuts(before_put=gate).create(1)
    writing = producer(puts, aggregation_enabled=False, buffer_bytes=1)
    writing.put(b"1")
    raised_errors: list[ProducerClosedError] = []

    def put() -> None:
        with pytest.raises(ProducerClosedError, match="producer of stream orders is closed") as raised:
            writing.put(b"2")
        raised_errors.append(raised.value)

    waiting = in_thread(put)
    gate.wait_for_requests()
    closing = in_thread(writing.close)
    waiting.join(PATIENCE_S)
    assert closing.is_alive()
    put()
    gate.open()
    closing.join(PATIENCE_S)
    assert len(raised_errors) == 2
    assert puts.copies() == Counter([b"1"])


def test_aborting_sends_no_more() -> None:
    """Waiting records are dropped without a warning. Requests in flight are waited for."""
    puts = FakePuts().create(1)
    writing = producer(puts)
    writing.put(b"data")
    writing.abort()
    assert writing.close() == Totals()
    assert puts.stored == []


def test_one_bad_row_and_none_is_put() -> None:
    """A call puts all its rows or nothing, and the producer stays usable."""
    puts = FakePuts().create(1)
    with producer(puts) as writing:
        with pytest.raises(InvalidRecordError, match="row 1"):
            writing.put_columns([b"1", b"2"], ["key", ""])
        with pytest.raises(InvalidRecordError, match=r"^The record has 1025 KiB"):
            writing.put(bytes(1024 * 1024), "k")
        writing.put(b"good")
    assert puts.copies() == Counter([b"good"])


def test_several_requests_are_in_flight_at_once() -> None:
    """There are as many requests in flight as connections."""
    gate = Gate(4)
    puts = FakePuts(before_put=gate).create(4)
    with producer(puts, aggregation_enabled=False, max_connections=4) as writing:
        writing.put_columns([b"%d" % number for number in range(2_000)], [str(n) for n in range(2_000)])
        gate.wait_for_requests()
        gate.open()
        assert writing.flush().requests >= 4
    assert len(puts.copies()) == 2_000


@pytest.mark.parametrize("enabled", [True, False])
def test_putting_waits_while_the_buffer_is_full(enabled: bool) -> None:
    """
    If the server does not respond, the caller waits. The producer holds no more than the buffer size and one record.
    """
    gate = Gate(1)
    puts = FakePuts(before_put=gate).create(2)
    writing = producer(puts, aggregation_enabled=enabled, buffer_bytes=100_000, max_connections=2)
    held: list[int] = []

    def work() -> None:
        for number in range(1_000):
            writing.put(b"%04d" % number + bytes(996), f"key-{number % 7}")
            held.append(writing._sender.accumulator.counts.held_bytes)

    thread = in_thread(work)
    gate.wait_for_requests()
    thread.join(0.2)
    assert thread.is_alive(), "nothing was written, so not everything can have been put"
    gate.open()
    thread.join(PATIENCE_S)
    assert len(held) == 1_000
    assert max(held) < 100_000 + 1_100
    assert writing.close().user_records == 1_000
    assert len(puts.copies()) == 1_000


@pytest.mark.tests  # its pauses are real
def test_many_threads_share_a_producer() -> None:
    """Records of all threads are written in spite of refusals and lost responses, and each thread may flush."""
    puts = FakePuts(
        random.Random(3), FaultRates(refused_records=10, failed_calls=10, lost_responses=10)
    ).create(3)
    lock = threading.Lock()  # the fake is not thread-safe

    class Locked:
        describe, list_shards = puts.describe, puts.list_shards

        def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
            with lock:
                return puts.put_records(entries, with_results)

    totals: list[Totals] = []
    settings = ProducerSettings(aggregation_max_size=2_000, buffer_bytes=50_000)
    with Producer(Locked(), settings, rng=random.Random(0)) as writing:

        def work(number: int) -> None:
            for start in range(0, 500, 50):
                data = [b"%d-%d" % (number, start + i) for i in range(50)]
                writing.put_columns(data, [f"key-{i}" for i in range(50)])
                if start % 200 == 0:
                    totals.append(writing.flush())

        threads = [in_thread(lambda number=number: work(number)) for number in range(6)]  # type: ignore[misc]
        for thread in threads:
            thread.join(PATIENCE_S)
        totals.append(writing.flush())
    assert len(puts.copies()) == 3_000
    assert sum(puts.copies().values()) - 3_000 == puts.lost
    assert sum(totals, Totals()).user_records == 3_000


def test_every_call_raises_the_failure() -> None:
    """Flushing, putting and closing raise the failure. Leaving the block does not raise it again."""
    puts = FakePuts(before_put=deny).create(1)
    with producer(puts) as writing:
        writing.put(b"data")
        with pytest.raises(PutError, match="kinesis:PutRecords"):
            writing.flush()
        with pytest.raises(PutError, match="kinesis:PutRecords"):
            writing.put(b"more")
    writing = producer(puts)
    writing.put(b"data")
    with pytest.raises(PutError, match="AccessDeniedException 1"):
        writing.close()


def test_closing_after_a_failure_takes_no_time() -> None:
    """A thread that sleeps because nothing is left to be sent is woken."""
    writing = producer(FakePuts(before_put=deny).create(1), record_max_buffered_time_s=0.01)
    sender = writing._sender
    writing.put(b"data")
    wait_until(lambda: sender.accumulator.failure is not None and sender.looks_at_s > 0)
    with pytest.raises(PutError):
        writing.put(b"more")
    started_s = time.monotonic()
    writing.close()
    assert time.monotonic() - started_s < _LONGEST_SLEEP_S / 2


def test_a_failure_has_the_sources_of_credentials_that_were_tried() -> None:
    """They are in the error of the call, and in that of the producer, after what to do."""

    def without_credentials(_: object) -> None:
        raise AccessDeniedError(
            "There are no credentials.", "None", advice="Set a profile.", tried="env: not set"
        )

    writing = producer(FakePuts(before_put=without_credentials).create(1))
    writing.put(b"data")
    with pytest.raises(PutError, match=r"There are no credentials\. Set a profile\. \[tried=env: not set\]"):
        writing.close()


def test_a_failure_wakes_callers_that_wait_for_room() -> None:
    """A failure ends the wait for room in a full buffer."""
    puts = FakePuts(before_put=deny).create(1)
    writing = producer(puts, buffer_bytes=1_000)
    with pytest.raises(PutError):
        writing.put_columns([bytes(500)] * 100)
    writing.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_does_not_hang() -> None:
    """An unexpected exception stops the producer. Callers get an error that names the stream and the exception."""
    writing = producer(FakePuts(before_put=break_down).create(1))
    writing.put(b"data")
    with pytest.raises(
        PutError,
        match=r"^Writing to stream orders stopped on an internal error \(ZeroDivisionError: broken\)",
    ):
        writing.flush()
    writing.close()


def test_a_forgotten_producer_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Garbage collection of an open producer warns, as for a file, and its records are written. Without records it says
    nothing.
    """
    gc.freeze()  # the collection skips what other tests left
    monkeypatch.setattr(TERMINATION, "_writers", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        puts = FakePuts().create(1)
        writing = producer(puts, record_max_buffered_time_s=3600)
        writing.put(b"data")
        del writing
        gc.collect()
        empty = producer(FakePuts().create(1))
        sender = empty._sender
        del empty
        gc.collect()
    gc.unfreeze()
    assert sender.is_stopped, "its group has no thread that would do it later"
    assert ["was not closed" in str(one.message) for one in caught] == [True]
    wait_until(lambda: puts.copies() == Counter([b"data"]))
    wait_until(lambda: not TERMINATION._writers)


def test_garbage_collection_waits_for_no_lock() -> None:
    """A producer can be collected in any thread, at any instruction: another thread may have the lock, and need this one."""
    puts = FakePuts().create(1)
    writing = producer(puts, record_max_buffered_time_s=3600)
    sender = writing._sender
    writing.put(b"data")
    taken, done = threading.Event(), threading.Event()

    def take() -> None:
        with sender.group.lock:
            taken.set()
            done.wait(PATIENCE_S)

    holding = in_thread(take)
    assert taken.wait(PATIENCE_S)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del writing
    assert holding.is_alive(), "it did not wait"
    done.set()
    wait_until(lambda: not sender.group.has_threads)
    assert puts.copies() == Counter([b"data"])


def test_callers_that_wait_for_room_wait_for_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """At SIGTERM they get no error: it would let the program go on, and skip what is written meanwhile."""
    gate, errors = Gate(1), list[ProducerClosedError]()
    ending = SimpleNamespace(is_ending=False, remove_writer=lambda _: None)
    monkeypatch.setattr("kinesis_core.producing.sender.TERMINATION", ending)
    writing = producer(FakePuts(before_put=gate).create(1), buffer_bytes=1_000)
    sender = writing._sender

    def put() -> None:
        try:
            writing.put_columns([bytes(500)] * 100)
        except ProducerClosedError as error:
            errors.append(error)

    caller = in_thread(put)
    gate.wait_for_requests()
    wait_until(lambda: sender.group.waiting_for_room == 1)
    ending.is_ending = True
    sender.end_soon()
    gate.open()
    wait_until(lambda: not sender.group.has_threads)
    caller.join(0.1)
    assert caller.is_alive()
    assert not errors
    ending.is_ending = False
    with sender.group.lock:
        sender.group.progress.notify_all()
    caller.join(PATIENCE_S)
    assert len(errors) == 1
    writing.close()
    TERMINATION.remove_writer(sender)


def test_the_handler_of_sigterm_shows_no_records() -> None:
    """Each producer looks at the handler, which `signal.getsignal` formats: that must not format all that others hold."""

    class Full:
        is_here = True

        def __repr__(self) -> str:
            raise AssertionError("formatted")

    termination = Termination()
    termination._writers.add(Full())  # type: ignore[arg-type]
    assert "Termination" in repr(termination.on_signal)


@pytest.mark.parametrize(
    "bad",
    [
        {"max_connections": 0},
        {"max_connections": 33},
        {"buffer_bytes": 0},
        {"record_ttl_s": 0},
        {"aggregation_max_size": 10},
        {"record_max_buffered_time_s": -1},
    ],
)
def test_settings_have_domains(bad: dict[str, Any]) -> None:
    """A setting outside its domain is refused."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        ProducerSettings(**bad)


def test_totals_add_up() -> None:
    """Totals of producers, tasks or flushes are added field by field."""
    added = Totals(user_records=1, bytes=5) + Totals(user_records=2, resent=1)
    assert added == Totals(user_records=3, bytes=5, resent=1)


class Forgetful(FakePuts):
    """A stream that accepts everything and stores nothing."""

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:  # noqa: ARG002 # the API's
        return PutResponse(0, ())


def test_written_records_are_freed() -> None:
    """A waiting producer keeps no reference to written records: its threads drop their last request."""
    data = b"x" * 100_000
    with producer(Forgetful().create(1)) as writing:
        held = sys.getrefcount(data)
        writing.put(data, "key")
        writing.flush()
        wait_until(lambda: sys.getrefcount(data) <= held)  # the sending thread may still hold it
