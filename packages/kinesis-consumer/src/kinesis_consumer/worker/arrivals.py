"""The batches of a worker, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kinesis_consumer.delivery import Batch
from kinesis_consumer.worker.threads import WorkerThreads


def _nothing() -> None:
    pass


@frozen
class Arrivals:
    """Yields batches until the group ends. Several threads or tasks may share it."""

    _threads: WorkerThreads
    _before_wait: Callable[[], None] = _nothing

    def __iter__(self) -> Arrivals:
        return self

    def __next__(self) -> Batch:
        while True:
            seen, batch = self._look(StopIteration())
            if batch is not None:
                return batch
            self._threads.wait(seen)

    def __aiter__(self) -> Arrivals:
        return self

    async def __anext__(self) -> Batch:
        while True:
            seen, batch = self._look(StopAsyncIteration())
            if batch is not None:
                return batch
            await self._threads.wait_async(seen)

    def _look(self, end: Exception) -> tuple[int, Batch | None]:
        """Return the number of changes before the look, and the batch that is there, if any. Raises *end* at the group's end."""
        seen = self._threads.changes
        batch = self._threads.take()
        if batch is None:
            if self._threads.is_stopping:
                raise end
            self._before_wait()
        return seen, batch
