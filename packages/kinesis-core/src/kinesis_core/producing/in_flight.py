"""Counts the records that a producer holds, what each flush waits for, and what happened."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

from kinesis_core.producing.buffer import Buffer
from kinesis_core.producing.shard_queue import ShardBatch
from kinesis_core.producing.totals import Totals


@define(eq=False)
class InFlightCounts:
    """Each batch is added once and removed once: when it is written, or when its user records are packed again."""

    buffer: Buffer = field(factory=Buffer)
    """Counts the same bytes, of all producers that share it."""
    batch_bytes: int = field(default=0, init=False)
    open_aggregate_bytes: int = field(default=0, init=False)
    """Bytes in open aggregates, which are not batches yet."""
    records_since_wake: int = field(default=0, init=False)
    bytes_since_wake: int = field(default=0, init=False)
    """What was added since a sending thread was last woken for it."""
    totals: Counter[str] = field(factory=Counter, init=False)
    """By the field names of `Totals`."""
    _unwritten: Counter[int] = field(factory=Counter, init=False)
    """User records of batches, by generation."""

    @property
    def held_bytes(self) -> int:
        return self.batch_bytes + self.open_aggregate_bytes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not (self._unwritten or self.open_aggregate_bytes)

    @property
    def unwritten(self) -> int:
        """Number of user records in batches."""
        return sum(self._unwritten.values())

    def hold(self, *, batch_bytes: int = 0, open_aggregate_bytes: int = 0) -> None:
        """Count bytes that are held from now on, or no longer if the numbers are negative."""
        self.batch_bytes += batch_bytes
        self.open_aggregate_bytes += open_aggregate_bytes
        self.buffer.held_bytes += batch_bytes + open_aggregate_bytes
        self.buffer.open_aggregate_bytes += open_aggregate_bytes

    def add(self, batch: ShardBatch) -> None:
        self.records_since_wake += len(batch.entries)
        self.bytes_since_wake += batch.size_bytes
        self.hold(batch_bytes=batch.size_bytes)
        self._unwritten[batch.state.generation] += batch.user_records

    def remove(self, batch: ShardBatch) -> None:
        generation = batch.state.generation
        self.hold(batch_bytes=-batch.size_bytes)
        self._unwritten[generation] -= batch.user_records
        if not self._unwritten[generation]:
            del self._unwritten[generation]

    def count_written(self, batch: ShardBatch) -> None:
        self.totals["user_records"] += batch.user_records
        self.totals["records"] += len(batch.entries)
        self.totals["bytes"] += batch.size_bytes

    def is_written(self, generation: int) -> bool:
        """Return whether no batch of *generation* or an earlier one is left."""
        return all(unwritten > generation for unwritten in self._unwritten)

    def take_totals(self) -> Totals:
        """Return what happened since the last call."""
        totals = Totals(**self.totals)
        self.totals.clear()
        return totals

    def clear(self) -> None:
        """Drop the counts of what is held. The totals remain."""
        self.hold(batch_bytes=-self.batch_bytes, open_aggregate_bytes=-self.open_aggregate_bytes)
        self._unwritten.clear()
