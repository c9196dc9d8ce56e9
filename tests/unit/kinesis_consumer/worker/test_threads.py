"""How threads and tasks of a worker wait for each other, and what makes a shard due."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from attrs import define

from kinesis_consumer import GroupSettings
from kinesis_consumer.worker import WorkerThreads
from support.consumer_groups import fill, new_group, new_stream
from support.fake_stream import FakeClock
from support.waiting import PATIENCE_S, wait_until
from unit.kinesis_consumer.lease_faults import FaultyTable

RARELY = GroupSettings(lease_duration_s=30.0, fetch_interval_s=3600, max_batch_records=1)


class NoWait(threading.Condition):
    """A condition that nobody may wait for."""

    def wait(self, timeout: float | None = None) -> bool:
        raise AssertionError(f"somebody waits {timeout} s")


async def in_time(task: asyncio.Task[None]) -> None:
    """Wait until *task* is done, but not for ever."""
    await asyncio.wait([task], timeout=PATIENCE_S)
    assert task.done()
    await task


def test_a_change_before_a_wait_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looked before a change does not wait after it, neither a thread nor a task."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.LONGEST_WAIT_S", 2 * PATIENCE_S)
    threads = new_group(new_stream())._threads
    threads.shards.changed = NoWait()
    seen = threads.changes
    threads.shards.wake()
    threads.wait(seen)

    async def program() -> None:
        await in_time(asyncio.ensure_future(threads.wait_async(seen, 2 * PATIENCE_S)))

    asyncio.run(program())


def test_a_change_wakes_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits is woken by a change in any other one."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.LONGEST_WAIT_S", 2 * PATIENCE_S)
    threads = new_group(new_stream())._threads
    seen = threads.changes
    waiting = threading.Thread(target=threads.wait, args=[seen, 2 * PATIENCE_S], daemon=True)
    waiting.start()
    wait_until(lambda: bool(threads.shards.changed._waiters))  # type: ignore[attr-defined]
    threads.shards.wake()
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()


def test_a_change_wakes_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that waits is woken by a change in any thread."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.LONGEST_WAIT_S", 1000)
    threads = new_group(new_stream())._threads

    async def program() -> None:
        waiting = asyncio.ensure_future(threads.wait_async(threads.changes, 1000))
        while not threads.shards.listeners:
            await asyncio.sleep(0)
        waker = threading.Thread(target=threads.shards.wake)
        waker.start()
        await in_time(waiting)
        waker.join()

    asyncio.run(program())


CANCELLATIONS = 500
TURNS = 8
"""More turns of the loop than a wait, its waker and its cancellation need to meet in any order."""


def test_no_cancellation_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is cancelled ends, also when a change wakes it in the same turn of the loop, or some turns earlier or later."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.LONGEST_WAIT_S", 1000)
    threads = new_group(new_stream())._threads

    async def consume() -> None:
        while True:
            await threads.wait_async(threads.changes, 1000)

    async def turn(times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    async def runs_on(turns: int) -> bool:
        """Return whether a task runs on that is cancelled *turns* after a change; before one if that is negative."""
        task = asyncio.ensure_future(consume())
        while not threads.shards.listeners:
            await turn(1)
        first, second = (
            (threads.shards.wake, task.cancel) if turns >= 0 else (task.cancel, threads.shards.wake)
        )
        first()
        await turn(abs(turns))
        second()
        await turn(TURNS)
        if task.cancelled():
            return False
        task.cancel()
        await asyncio.wait([task])
        return True

    async def program() -> list[int]:
        tried = [number % TURNS - TURNS // 2 for number in range(CANCELLATIONS)]
        return [turns for turns in tried if await runs_on(turns)]

    assert asyncio.run(program()) == []


def test_a_page_that_comes_during_a_commit_is_due_at_once() -> None:
    """It makes a batch as soon as the commit is done, and not when the next page is to be read, an hour later."""
    stream, table = new_stream(), FaultyTable()
    fill(stream, 1)
    threads = new_group(stream, table, settings=RARELY, clock=FakeClock())._threads
    threads.coordinator.step()
    worker = threads.worker
    (reader,) = worker.leases.shards.readers()
    worker.advance(reader)
    first = worker.take()
    assert first is not None
    while reader in worker.due_readers():
        worker.advance(reader)
    fill(stream, 1)

    def fetch_once() -> str:
        table.hook = str
        reader.fetch()
        return ""

    table.hook = fetch_once
    first.commit()
    assert worker.due_readers() == [reader]
    worker.advance(reader)
    assert worker.take() is not None


def test_a_shard_that_is_handed_over_is_not_due() -> None:
    """While a batch is in hand and another worker is to have the shard, its thread has nothing to do."""
    stream = new_stream()
    fill(stream, 2)
    threads = new_group(stream, settings=RARELY, clock=FakeClock())._threads
    threads.coordinator.step()
    (reader,) = threads.worker.leases.shards.readers()
    assert threads.worker.due_readers() == [reader]
    reader.held.lose("the test says so")
    threads.shards.look_at(reader.key)
    assert threads.worker.due_readers() == []


def test_a_change_while_a_shard_is_advanced_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that was taken for busy is looked at again once it is no longer busy."""
    stream = new_stream()
    fill(stream, 2)
    threads = new_group(stream, settings=RARELY, clock=FakeClock())._threads
    threads.coordinator.step()
    jobs: list[Callable[[], None]] = []
    threads._fetching = Jobs(jobs)  # type: ignore[assignment]
    threads._read_due()
    (reader,) = threads.worker.leases.shards.readers()
    threads.shards.look_at(reader.key)
    threads._read_due()
    assert len(jobs) == 1
    monkeypatch.setattr(type(threads.worker), "advance", lambda *_: None)
    jobs.pop()()
    threads._read_due()
    assert len(jobs) == 1


@define
class Jobs:
    """A pool without threads."""

    jobs: list[Callable[[], None]]

    def submit(self, run: Callable[..., None], *arguments: object) -> None:
        self.jobs.append(lambda: run(*arguments))
