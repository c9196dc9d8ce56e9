"""Batches that the program has in hand."""

from __future__ import annotations

import threading

from attrs import define, field

from kinesis_consumer.delivery.batch import Batch
from kinesis_core.clock import Clock
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

UNCOMMITTED_S = 60.0
"""A batch that is out for so long while its program waits for another one is worth a warning."""


@define
class TakenBatches:
    """Remembers when batches were taken, to warn of those that are never committed: their shards wait for ever. Thread-safe."""

    clock: Clock
    _taken_s: dict[Batch, float] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def note(self, batch: Batch) -> Batch:
        """Remember that *batch* is taken now, and return it."""
        with self._lock:
            taken_s = {each: s for each, s in self._taken_s.items() if each.is_ours}
            self._taken_s = {**taken_s, batch: self.clock.now_s()}
        return batch

    def warn(self) -> None:
        """Warn once of each batch that is out for long, while the program waits for another one."""
        now_s = self.clock.now_s()
        with self._lock:
            late = [each for each, taken_s in self._taken_s.items() if now_s - taken_s > UNCOMMITTED_S]
            for batch in late:
                del self._taken_s[batch]
        for batch in late:
            if batch.is_ours:
                log.warning("batch.uncommitted", batch=str(batch.id), out_s=round(UNCOMMITTED_S))
