"""The batches of a worker, one after the other."""

from __future__ import annotations

from attrs import define, field

from kinesis_consumer.delivery import Batch
from kinesis_consumer.worker.threads import WorkerThreads
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

UNCOMMITTED_S = 60.0
"""A batch that is out for so long while its program waits for another one is worth a warning."""


@define
class Arrivals:
    """
    Yields batches until the worker ends. Several threads or tasks may share it.

    It *warns* of batches that are never committed, because their shards wait for ever.
    """

    _threads: WorkerThreads
    _warns: bool = True
    _taken_s: dict[Batch, float] = field(factory=dict, init=False)
    """When each batch that is out was taken."""

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
        """Return the number of changes before the check, and the batch that is there, if any. Raises *end* at the worker's end."""
        seen, now_s = self._threads.changes, self._threads.worker.clock.now_s()
        batch = self._threads.take()
        if batch is not None:
            for other in [other for other in list(self._taken_s) if not other.is_ours]:
                self._taken_s.pop(other, None)
            self._taken_s[batch] = now_s
        elif self._threads.is_stopping:
            raise end
        elif self._warns:
            self._warn(now_s)
        return seen, batch

    def _warn(self, now_s: float) -> None:
        """Warn once of each batch that is out for long, while the program waits for another one."""
        for batch, taken_s in list(self._taken_s.items()):
            is_late = now_s - taken_s > UNCOMMITTED_S and self._taken_s.pop(batch, None) is not None
            if is_late and batch.is_ours:
                log.warning("batch.uncommitted", batch=str(batch.id), out_s=round(UNCOMMITTED_S))
