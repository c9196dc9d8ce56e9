"""Runs a handler for all batches of a worker: in threads, or in tasks of asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import wait
from contextlib import suppress
from inspect import iscoroutinefunction

from attrs import define

from kinesis_consumer.arguments import refused
from kinesis_consumer.delivery import Batch
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.handling.steps import (
    Commit,
    Handler,
    Handling,
    HandlingSteps,
    Pause,
    call,
    call_async,
    next_step,
    verify_count,
)
from kinesis_consumer.worker import LONGEST_WAIT_S, WorkerThreads
from kinesis_core import OptionError
from kinesis_core.threads import ThreadPool


@define
class Run:
    """One run of a handler. A batch whose lease is lost is not committed: another worker delivers it again."""

    worker: WorkerThreads
    handler: Handler
    handling: Handling

    def in_threads(self, batches: Iterator[Batch], threads: int) -> None:
        """
        Call the handler in several threads until the worker ends.

        Raises:
            HandlerError: The handler failed in all attempts. The other threads finish their current batches.
        """
        self._verify_handler()
        if _is_async(self.handler):
            raise OptionError("'handler' is a coroutine function: use `await group.run_async(...)` for it.")
        verify_count("threads", threads, 1)

        def work() -> None:
            try:
                for batch in batches:
                    self._process(batch)
            finally:
                self.worker.stop()

        with ThreadPool(threads, "kinesis-handler") as pool:
            futures = [pool.submit(work) for _ in range(threads)]
            try:
                while wait(futures, LONGEST_WAIT_S).not_done:
                    pass  # Python handles a signal in this thread, and does not wake it if another one has got the signal
            finally:
                self.worker.stop()
        for future in futures:
            future.result()

    async def in_tasks(self, batches: AsyncIterator[Batch], tasks: int) -> None:
        """Await the handler in several tasks until the worker ends. Raises as `in_threads`."""
        import asyncio  # a program of threads does without its cost

        self._verify_handler()
        if not _is_async(self.handler):
            raise OptionError("'handler' is not a coroutine function: use `group.run(...)` for it.")
        verify_count("tasks", tasks, 1)

        async def work() -> None:
            try:
                async for batch in batches:
                    await self._process_async(batch)
            finally:
                self.worker.stop()

        results = await asyncio.gather(*(work() for _ in range(tasks)), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _verify_handler(self) -> None:
        if not callable(self.handler):
            raise refused("handler", "a function of a batch or a record", self.handler)

    def _process(self, batch: Batch) -> None:
        steps, error = self._steps(batch), None
        with suppress(LeaseLostError):
            while (step := next_step(steps, error)) is not None:
                error = None
                match step:
                    case Pause(seconds):
                        self.worker.wait(self.worker.changes, seconds)
                    case Commit():
                        batch.commit()
                    case unit:
                        error = call(self.handler, unit)

    async def _process_async(self, batch: Batch) -> None:
        import asyncio

        steps, error = self._steps(batch), None
        with suppress(LeaseLostError):
            while True:  # after an error a step may call `on_failure`, which may block
                step = await asyncio.to_thread(next_step, steps, error) if error else next_step(steps, None)
                error = None
                match step:
                    case None:
                        return
                    case Pause(seconds):
                        await self.worker.wait_async(self.worker.changes, seconds)
                    case Commit():
                        await batch.commit_async()
                    case unit:
                        error = await call_async(self.handler, unit)

    def _steps(self, batch: Batch) -> HandlingSteps:
        return self.handling.steps(batch, self.worker.worker.clock, lambda: self.worker.is_stopping)


def _is_async(handler: Handler) -> bool:
    """Return whether *handler* is a coroutine function, or an object that is called as one."""
    return iscoroutinefunction(handler) or iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - its kind counts
