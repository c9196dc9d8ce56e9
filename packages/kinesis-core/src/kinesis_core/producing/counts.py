"""What producers hold in their buffer, what each flush waits for, and what happened."""

from __future__ import annotations

from collections import Counter

from attrs import asdict, define, field, frozen

from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing.shard_queue import REQUEST_BYTES, ShardBatch


@frozen
class Totals:
    """Counts of what happened to the records of one producer. Totals of several producers can be added."""

    user_records: int = 0
    """User records that are written."""
    records: int = 0
    """Records that hold them. An aggregate is one record."""
    bytes: int = 0
    """Data and partition keys of those records."""
    requests: int = 0
    """Calls of PutRecords, failed ones included."""
    throttled: int = 0
    """Records that a shard refused because of its rate, counted each time."""
    failed: int = 0
    """Records that Kinesis refused for another reason, counted each time."""
    resent: int = 0
    """User records sent again because the response was lost or an error. They may be in the stream twice."""
    misplaced: int = 0
    """User records sent again because their aggregate went to a shard that does not own all of them."""

    def __add__(self, other: Totals) -> Totals:
        mine, theirs = asdict(self), asdict(other)
        return Totals(**{name: mine[name] + theirs[name] for name in mine})


@define(eq=False)
class Buffer:
    """What the producers that share a buffer hold together."""

    held_bytes: int = 0
    """Data and keys of user records that are put and not yet written."""
    open_aggregate_bytes: int = 0
    """A part of them: those in open aggregates, which are not batches yet."""
    producers: int = 0
    """How many producers share it."""

    @property
    def share(self) -> float:
        """The part of a limit for all of them that each of them may use."""
        return 1 / max(1, self.producers)


@define(eq=False)
class InFlightCounts:
    """Each batch is added once and removed once: when it is written, or when its user records are packed again."""

    buffer: Buffer = field(factory=Buffer)
    """Counts the same bytes, of all producers that share it."""
    batch_bytes: int = field(default=0, init=False)
    open_aggregate_bytes: int = field(default=0, init=False)
    """Bytes in open aggregates, which are not batches yet."""
    _records_since_wake: int = field(default=0, init=False)
    _bytes_since_wake: int = field(default=0, init=False)
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

    @property
    def is_request_full(self) -> bool:
        """Whether what was added since the last wake may fill a request."""
        return self._records_since_wake >= MAX_PUT_RECORDS or self._bytes_since_wake >= REQUEST_BYTES

    def on_woken(self) -> None:
        self._records_since_wake = self._bytes_since_wake = 0

    def hold(self, *, batch_bytes: int = 0, open_aggregate_bytes: int = 0) -> None:
        """Count bytes that are held from now on, or no longer if the numbers are negative."""
        self.batch_bytes += batch_bytes
        self.open_aggregate_bytes += open_aggregate_bytes
        self.buffer.held_bytes += batch_bytes + open_aggregate_bytes
        self.buffer.open_aggregate_bytes += open_aggregate_bytes

    def add(self, batch: ShardBatch) -> None:
        self._records_since_wake += len(batch.entries)
        self._bytes_since_wake += batch.size_bytes
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
