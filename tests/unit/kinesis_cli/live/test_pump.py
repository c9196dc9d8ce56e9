"""Calling a source again and again."""

from __future__ import annotations

import queue
import threading

from kinesis_cli.live import Pump
from support.waiting import PATIENCE_S


def test_results_and_errors_are_delivered() -> None:
    """Each result is delivered. After an error the next call is made all the same."""
    found: queue.SimpleQueue[object] = queue.SimpleQueue()
    values = iter([1, ValueError("no"), 2])

    def fetch() -> object:
        value = next(values, 3)
        if isinstance(value, Exception):
            raise value
        return value

    pump = Pump(fetch, found.put, every_s=0.0, after_error_s=0.0)
    pump.start()
    delivered = [found.get(timeout=PATIENCE_S) for _ in range(4)]
    pump.stop()
    assert [str(one) for one in delivered] == ["1", "no", "2", "3"]


def test_a_pause() -> None:
    """While it is paused no call is made, and what a call under way returns is dropped."""
    entered, left = threading.Semaphore(0), threading.Semaphore(0)
    found: queue.SimpleQueue[int] = queue.SimpleQueue()
    calls: list[int] = []

    def fetch() -> int:
        calls.append(len(calls))
        entered.release()
        assert left.acquire(timeout=PATIENCE_S)
        return calls[-1]

    pump: Pump[int] = Pump(fetch, found.put, every_s=0.0)  # type: ignore[arg-type]
    pump.start()
    assert entered.acquire(timeout=PATIENCE_S)
    pump.pause()
    left.release()
    assert not entered.acquire(timeout=0.1)
    pump.resume()
    assert entered.acquire(timeout=PATIENCE_S)
    left.release()
    assert found.get(timeout=PATIENCE_S) == 1
    pump.stop()
    left.release()


def test_a_stop_does_not_wait() -> None:
    """Stopping returns while a call is under way, in a thread that no program waits for. Its result is dropped."""
    entered, left = threading.Event(), threading.Event()
    found: queue.SimpleQueue[object] = queue.SimpleQueue()

    def fetch() -> None:
        entered.set()
        left.wait(PATIENCE_S)

    pump: Pump[None] = Pump(fetch, found.put, every_s=0.0)
    before = set(threading.enumerate())  # those of other tests may still end
    pump.start()
    assert entered.wait(PATIENCE_S)
    (thread,) = [one for one in set(threading.enumerate()) - before if one.name == "kinesis-top"]
    pump.stop()
    assert thread.daemon
    left.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert found.empty()
