"""Counts what a producer holds, what each flush waits for, and what happened."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

from kinesis_core.producing.shard_batch import ShardBatch
from kinesis_core.producing.totals import Totals


@define(eq=False)
class InFlightCounts:
    """Every parcel is entered once, and struck out once: when it is written, or made into others."""

    batch_bytes: int = field(default=0, init=False)
    open_aggregate_bytes: int = field(default=0, init=False)
    """What is in boxes, which is no parcel yet."""
    fresh_records: int = field(default=0, init=False)
    fresh_bytes: int = field(default=0, init=False)
    """What was entered since somebody was woken up for it."""
    tally: Counter[str] = field(factory=Counter, init=False)
    """What `Totals` has, by its names."""
    _unwritten: Counter[int] = field(factory=Counter, init=False)
    """User records by generation, those in boxes left out."""

    @property
    def held_bytes(self) -> int:
        return self.batch_bytes + self.open_aggregate_bytes

    @property
    def unwritten(self) -> int:
        """How many user records are in parcels."""
        return sum(self._unwritten.values())

    def add(self, batch: ShardBatch) -> None:
        self.fresh_records += len(batch.entries)
        self.fresh_bytes += batch.size_bytes
        self.batch_bytes += batch.size_bytes
        self._unwritten[batch.state.generation] += batch.user_records

    def remove(self, batch: ShardBatch) -> None:
        generation = batch.state.generation
        self.batch_bytes -= batch.size_bytes
        self._unwritten[generation] -= batch.user_records
        if not self._unwritten[generation]:
            del self._unwritten[generation]

    def note_written(self, batch: ShardBatch) -> None:
        self.tally["user_records"] += batch.user_records
        self.tally["records"] += len(batch.entries)
        self.tally["bytes"] += batch.size_bytes

    def is_written(self, generation: int) -> bool:
        """Return whether no parcel of that generation, or of one before, is left."""
        return all(unwritten > generation for unwritten in self._unwritten)

    def take_totals(self) -> Totals:
        """Return what happened since they were last taken."""
        totals = Totals(**self.tally)
        self.tally.clear()
        return totals

    def clear(self) -> None:
        """Forget what is held; what happened remains."""
        self.batch_bytes = self.open_aggregate_bytes = 0
        self._unwritten.clear()
