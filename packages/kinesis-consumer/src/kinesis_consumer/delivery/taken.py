"""Batches that the program has in hand."""

from __future__ import annotations

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

    def note(self, batch: Batch) -> Batch:
        """Remember that *batch* is taken now, and return it."""
        for each in list(self._taken_s):
            if not each.is_ours:
                self._taken_s.pop(each, None)
        self._taken_s[batch] = self.clock.now_s()
        return batch

    def warn(self) -> None:
        """Warn once of each batch that is out for long, while the program waits for another one."""
        now_s = self.clock.now_s()
        for batch, taken_s in list(self._taken_s.items()):
            is_late = now_s - taken_s > UNCOMMITTED_S and self._taken_s.pop(batch, None) is not None
            if is_late and batch.is_ours:
                log.warning("batch.uncommitted", batch=str(batch.id), out_s=round(UNCOMMITTED_S))
