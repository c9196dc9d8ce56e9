"""Runs a handler for all batches of a group: in threads, or in tasks of asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import wait
from inspect import iscoroutinefunction

from attrs import define

from kinesis_consumer.delivery import Batch
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.handling.steps import (
    Commit,
    Handler,
    Handling,
    Pause,
    Step,
    Steps,
    call,
    call_async,
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
        Call the handler in several threads until the group ends.

        Raises:
            HandlerError: The handler failed for good. The other threads finish the batches that they have in hand.
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
        """Await the handler in several tasks until the group ends. Raises as `in_threads`."""
        import asyncio  # a program of threads does without its cost

        self._verify_handler()
        if not _is_async(self.handler):
            raise OptionError("'handler' is no coroutine function: use `group.run(...)` for it.")
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
            raise OptionError(f"'handler' accepts a function of a batch or a record; got {self.handler!r}.")

    def _process(self, batch: Batch) -> None:
        steps = self.handling.steps(batch)
        error: Exception | None = None
        try:
            while not isinstance(step := steps.send(error), Commit):
                error = None
                if isinstance(step, Pause):
                    self._sleep(batch, step.seconds)
                if self._is_over(batch, step):
                    return
                if not isinstance(step, Pause):
                    error = call(self.handler, step)
                if error is not None and _is_lost(batch):
                    return
            batch.commit()
        except LeaseLostError:
            return

    async def _process_async(self, batch: Batch) -> None:
        steps = self.handling.steps(batch)
        error: Exception | None = None
        try:
            while not isinstance(step := await _next_step(steps, error), Commit):
                error = None
                if isinstance(step, Pause):
                    await self._sleep_async(batch, step.seconds)
                if self._is_over(batch, step):
                    return
                if not isinstance(step, Pause):
                    error = await call_async(self.handler, step)
                if error is not None and _is_lost(batch):
                    return
            await batch.commit_async()
        except LeaseLostError:
            return

    def _is_over(self, batch: Batch, step: Step) -> bool:
        """Return whether the batch is over here, because another worker delivers it again."""
        return _is_lost(batch) or (isinstance(step, Pause) and self.worker.is_stopping)

    def _sleep(self, batch: Batch, seconds: float) -> None:
        """Wait before another attempt, unless there is to be none."""
        until_s = self._now_s() + seconds
        while (left_s := until_s - self._now_s()) > 0 and not self._is_over(batch, Pause(left_s)):
            self.worker.wait(self.worker.changes, left_s)

    async def _sleep_async(self, batch: Batch, seconds: float) -> None:
        until_s = self._now_s() + seconds
        while (left_s := until_s - self._now_s()) > 0 and not self._is_over(batch, Pause(left_s)):
            await self.worker.wait_async(self.worker.changes, left_s)

    def _now_s(self) -> float:
        return self.worker.worker.clock.now_s()


def _is_async(handler: Handler) -> bool:
    """Return whether *handler* is a coroutine function, or an object that is called as one."""
    return iscoroutinefunction(handler) or iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - its kind counts


def _is_lost(batch: Batch) -> bool:
    return not (batch.is_ours or batch.is_committed)


async def _next_step(steps: Steps, error: Exception | None) -> Step:
    """Return the next step. After an error it may call `on_failure`, which may block."""
    if error is None:
        return steps.send(None)
    import asyncio

    return await asyncio.to_thread(steps.send, error)
