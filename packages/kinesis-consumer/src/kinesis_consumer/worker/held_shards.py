"""The shards of one worker: those that it reads, and those that are read to their end."""

from __future__ import annotations

from threading import RLock

from attrs import define, field

from kinesis_consumer.delivery import Batch, MemoryUse, ShardReader
from kinesis_consumer.leases import HeldLease
from kinesis_consumer.worker.ready import ReadyBatches
from kinesis_consumer.worker.schedule import Schedule


@define(eq=False)
class HeldShards:
    """The leases that a worker holds, and the batches that wait for its user. Thread-safe."""

    ready: ReadyBatches = field(factory=ReadyBatches, init=False)
    schedule: Schedule = field(factory=Schedule, init=False)
    memory: MemoryUse = field(factory=MemoryUse, init=False)
    _readers: dict[str, ShardReader] = field(factory=dict, init=False)
    _by_shard: dict[tuple[str, str], ShardReader] = field(factory=dict, init=False)
    """The same readers by the names of stream and shard, as batches have them."""
    _finished: dict[str, HeldLease] = field(factory=dict, init=False)
    """Leases of shards that are read to their end. They are kept until their children are read, as in the KCL."""
    _lock: RLock = field(factory=RLock, init=False)

    def keys(self) -> set[str]:
        """Return the keys of all leases."""
        with self._lock:
            return {*self._readers, *self._finished}

    def readers(self) -> list[ShardReader]:
        """Return a reader for each shard that is read."""
        with self._lock:
            return list(self._readers.values())

    def finished(self) -> list[HeldLease]:
        """Return the leases of shards that are read to their end."""
        with self._lock:
            return list(self._finished.values())

    def reader_of(self, key: str) -> ShardReader | None:
        """Return who reads the shard of the lease *key*."""
        with self._lock:
            return self._readers.get(key)

    def reads(self, reader: ShardReader) -> bool:
        """Return whether the shard is read by *reader*."""
        return self.reader_of(reader.held.key) is reader

    def reader_of_batch(self, batch: Batch) -> ShardReader | None:
        """Return the reader that *batch* is out of, and not committed."""
        with self._lock:
            reader = self._by_shard.get((batch.stream, batch.shard_id))
        return reader if reader is not None and reader.out is batch else None

    def add(self, reader: ShardReader) -> None:
        """Read a shard from now on."""
        reader.open()
        with self._lock:
            self._readers[reader.held.key] = reader
            self._by_shard[reader.stream, reader.shard_id] = reader
        self.schedule.touch([reader.held.key])

    def remove(self, reader: ShardReader) -> bool:
        """Read a shard no longer. Returns False if another thread was first."""
        with self._lock:
            is_removed = self.reads(reader)
            if is_removed:
                del self._readers[reader.held.key], self._by_shard[reader.stream, reader.shard_id]
                reader.close()
        self.ready.remove(reader.out)
        return is_removed

    def finish(self, reader: ShardReader) -> None:
        """Keep the lease of a shard that was read to its end, without a reader."""
        with self._lock:
            self.remove(reader)
            self.keep_finished(reader.held)

    def keep_finished(self, held: HeldLease) -> None:
        """Keep the lease of a finished shard."""
        with self._lock:
            self._finished[held.key] = held

    def forget(self, key: str) -> None:
        """Keep the lease of a finished shard no longer."""
        with self._lock:
            self._finished.pop(key, None)

    def withdraw(self, reader: ShardReader) -> None:
        """Take back a batch that nobody has in hand yet."""
        if self.ready.remove(reader.out):
            reader.withdraw()
