"""The threads of one worker: renewals, coordination, and reading of shards. The first error of any of them ends the worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial

from attrs import define, field

from kinesis_consumer.delivery import Batch, ShardReader
from kinesis_consumer.worker.coordinator import Coordinator
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_consumer.worker.worker import Worker
from kinesis_core import ProcessLimitError
from kinesis_core.threads import ThreadPool, start_thread

RENEWAL_THREADS = 16
"""Leases that are renewed at once: a renewal takes some milliseconds, and a worker may have a thousand."""
CLOSE_S = 2.0
"""How long `close` waits for calls under way, before it releases the leases."""
LONGEST_WAIT_S = 0.5
"""How long a thread sleeps at most. A shard that becomes due for another reason than time wakes its thread."""


@define(eq=False)
class WorkerThreads:
    """
    Runs the steps of one worker in threads, from `start` to `close`.

    After `stop` it delivers nothing more, and releases all leases except those of current batches. These are renewed until `close`.
    """

    worker: Worker
    coordinator: Coordinator
    failure: BaseException | None = field(default=None, init=False)
    """The error that ended the worker."""
    is_stopping: bool = field(default=False, init=False)
    _process: int | None = field(default=None, init=False)
    """The process that has the threads. A fork of it has none."""
    _is_closing: threading.Event = field(factory=threading.Event, init=False)
    _is_being_closed: bool = field(default=False, init=False)
    """Whether a thread closes the worker. Another one waits for it."""
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _fetching: ThreadPool | None = field(default=None, init=False)
    _renewing: ThreadPool | None = field(default=None, init=False)
    _busy: dict[str, Future[None]] = field(factory=dict, init=False)
    """What is done for a lease. A lease that was lost and gained again has another reader, and may not be read twice at once."""
    _own: threading.local = field(factory=threading.local, init=False)
    """Whether a thread is one of the worker's, or closes it."""

    def start(self) -> None:
        """
        Start all threads.

        Raises:
            RuntimeError: They were started before.
            ProcessLimitError: The system refuses a thread. None is left.
        """
        if self._process is not None:
            raise RuntimeError(
                "This ConsumerGroup was entered before. Open another one: ConsumerGroup.open(...)."
            )
        self._process = os.getpid()
        self._fetching = ThreadPool(self.worker.leases.settings.fetch_threads, "kinesis-fetch", self._mark)
        self._renewing = ThreadPool(RENEWAL_THREADS, "kinesis-renew", self._mark)
        for loop in (self._renew, self._coordinate, self._read):
            try:
                self._threads.append(start_thread(partial(self._guard, loop), f"kinesis{loop.__name__}"))
            except ProcessLimitError:
                self.close()
                raise

    @property
    def is_here(self) -> bool:
        """Whether the threads run in this process, and not in the one that it was forked from."""
        return self._process == os.getpid()

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller is one of the worker's threads, or the one that closes it, as in a callback."""
        return getattr(self._own, "is_own", False)

    @property
    def shards(self) -> HeldShards:
        """What the threads of the worker and of its program wait for."""
        return self.worker.leases.shards

    @property
    def changes(self) -> int:
        """Grows with each change. Read it before the state, and wait only if it is still the same."""
        return self.shards.changes

    def stop(self) -> None:
        """Deliver no further batch, and release the leases without a current batch."""
        self.is_stopping = True
        self.shards.wake()

    def fail(self, error: BaseException) -> None:
        """End the worker with *error*; the first one counts."""
        self.failure = self.failure or error
        self.stop()

    def take(self) -> Batch | None:
        """
        Return the next batch; None if there is none now, or no further one.

        Raises:
            BaseException: The error that ended the worker.
            RuntimeError: The `ConsumerGroup` was not entered, or in another process.
        """
        if not self.is_here:
            raise RuntimeError(
                "This ConsumerGroup is not entered in this process. Use it as in `with ConsumerGroup.open(...) as group`. A process "
                "that was forked opens its own ConsumerGroup."
            )
        if self.failure is not None:
            raise self.failure
        return None if self.is_stopping else self.worker.take()

    def wait(self, seen: int, seconds: float = LONGEST_WAIT_S) -> None:
        """Wait until there are other `changes` than *seen*, at most for a while."""
        with self.shards.changed:
            if self.changes == seen:
                self.shards.changed.wait(min(seconds, LONGEST_WAIT_S))

    async def wait_async(self, seen: int, seconds: float = LONGEST_WAIT_S) -> None:
        """Wait as `wait` does, without a thread."""
        import asyncio  # a program of threads does without its cost

        loop = asyncio.get_running_loop()
        changed = loop.create_future()

        def settle() -> None:
            if not changed.done():
                changed.set_result(None)

        def notify() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(settle)

        with self.shards.changed:
            if self.changes != seen:
                settle()
            self.shards.listeners.add(notify)
        timer = loop.call_later(min(seconds, LONGEST_WAIT_S), settle)
        try:
            await changed
        finally:
            timer.cancel()
            with self.shards.changed:
                self.shards.listeners.discard(notify)

    def close(self) -> None:
        """
        Stop all threads, and release all leases. Idempotent. Does nothing in a fork of the process that has the threads.

        In a callback it only stops the worker: a thread cannot wait for itself.

        Raises:
            BaseException: The error of a callback that was called in this time. All leases are released nevertheless.
        """
        if not self.is_here:
            return
        if self.is_own_thread:
            self.stop()
            return
        with self._one_closes():
            earlier = self.failure
            self._is_closing.set()
            self.stop()
            self._end_threads()
            if self.failure is not None and self.failure is not earlier:
                raise self.failure

    @contextmanager
    def _one_closes(self) -> Iterator[None]:
        """Let one thread at a time close the worker. A callback that it calls runs in a thread of the worker."""
        with self.shards.changed:
            while self._is_being_closed:
                # The main thread handles signals. One that another thread gets does not wake it.
                self.shards.changed.wait(LONGEST_WAIT_S)
            self._is_being_closed = self._own.is_own = True
        try:
            yield
        finally:
            self._is_being_closed = self._own.is_own = False
            self.shards.wake()

    def _end_threads(self) -> None:
        """Wait for the threads, but not for long: a call to a Kinesis that fails must not keep the leases from others."""
        for thread in self._threads:
            thread.join(CLOSE_S)
        if self._fetching is not None and self._renewing is not None:
            wait(self._busy.values(), CLOSE_S)
            self._fetching.shutdown(wait=False, cancel_futures=True)
            self._renewing.shutdown(wait=False)
            self._fetching = self._renewing = None
            self.coordinator.close()

    def _mark(self) -> None:
        self._own.is_own = True

    def _guard(self, loop: Callable[[], None]) -> None:
        self._mark()
        try:
            loop()
        except BaseException as error:  # noqa: BLE001 - it surfaces in the user's thread
            self.fail(error)

    def _renew(self) -> None:
        while (pool := self._renewing) is not None and not self._is_closing.is_set():
            wait_s = LONGEST_WAIT_S
            try:
                wait_s = min(self.worker.leases.renew(pool.map), wait_s)
            except BaseException as error:  # noqa: BLE001 - it surfaces, and batches in hand keep their leases
                self.fail(error)
            self._is_closing.wait(wait_s)

    def _coordinate(self) -> None:
        try:
            while not self.is_stopping:
                wait_s = self.coordinator.step()
                with self.shards.changed:
                    self.shards.changed.wait_for(lambda: self.is_stopping, min(wait_s, LONGEST_WAIT_S))
        finally:
            self.coordinator.release()

    def _read(self) -> None:
        while not self.is_stopping:
            seen = self.changes
            self.worker.report_lags()
            wait_s = self._read_due()
            with self.shards.changed:
                self.shards.changed.wait_for(lambda seen=seen: self.changes != seen, wait_s)  # type: ignore[misc]

    def _read_due(self) -> float:
        """Let the pool advance all shards that are due. Returns in how many seconds the next one is."""
        pool, now_s = self._fetching, self.worker.clock.now_s()
        for reader in self.worker.due_readers():
            if pool is not None and reader.key not in self._busy:
                self._busy[reader.key] = future = Future[None]()
                pool.submit(self._advance, reader, future)
        return max(0.0, min(self.worker.next_due_s(), now_s + LONGEST_WAIT_S) - now_s)

    def _advance(self, reader: ShardReader, future: Future[None]) -> None:
        try:
            self.worker.advance(reader)
        except BaseException as error:  # noqa: BLE001 - it surfaces in the user's thread
            self.fail(error)
        finally:
            self._busy.pop(reader.key, None)
            future.set_result(None)
            self.shards.look_at(reader.key)  # whoever looked before took it for busy
