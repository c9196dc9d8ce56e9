"""Batches that wait for the user."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from attrs import define, field

from kinesis_consumer.delivery import Batch


@define
class ReadyBatches:
    """Batches whose end is fixed and that nobody has in hand yet, in the order in which they go out. Thread-safe."""

    _batches: deque[Batch] = field(factory=deque, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def put(self, batch: Batch) -> None:
        """Let *batch* go out after all others."""
        with self._lock:
            self._batches.append(batch)

    def take(self, is_valid: Callable[[Batch], bool]) -> Batch | None:
        """Return the next batch that is valid; None if there is none. Others before it are dropped."""
        while (batch := self._pop()) is not None:
            if is_valid(batch):
                return batch
        return None

    def remove(self, batch: Batch | None) -> bool:
        """Let *batch* not go out. Returns False if it is in somebody's hand already, or there is none."""
        with self._lock:
            is_there = batch is not None and batch in self._batches
            if batch is not None and is_there:
                self._batches.remove(batch)
            return is_there

    def _pop(self) -> Batch | None:
        with self._lock:
            return self._batches.popleft() if self._batches else None
