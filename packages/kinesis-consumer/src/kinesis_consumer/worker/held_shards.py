"""The shards of one worker: who reads them, which of them is looked at next, and what its threads and tasks wait for."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition

from attrs import define, field

from kinesis_consumer.delivery import ShardReader
from kinesis_consumer.leases import HeldLease


@define(eq=False)
class HeldShards:
    """
    The leases that a worker holds, each with a reader of its shard or, for a finished shard, alone. Thread-safe.

    A worker with a thousand shards cannot look at all of them after each batch. So it checks only shards that have changed, or
    whose time has come.
    """

    changed: Condition = field(factory=Condition, init=False)
    """Its lock is the lock of all that is here. Nothing is called with it but the listeners."""
    changes: int = field(default=0, init=False)
    """How many there were."""
    listeners: set[Callable[[], None]] = field(factory=set, init=False)
    """Are called at each change."""
    _readers: dict[str, ShardReader] = field(factory=dict, init=False)
    _finished: dict[str, HeldLease] = field(factory=dict, init=False)
    """Leases of shards that are read to their end. They are kept until their children are read, as in the KCL."""
    _ready: deque[str] = field(factory=deque, init=False)
    """The leases whose shards have a batch that waits for the program, in the order in which the batches go out."""
    _changed: dict[str, None] = field(factory=dict, init=False)
    """In the order in which they changed."""
    _due_s: dict[str, float] = field(factory=dict, init=False)
    """When to look at a shard that waits for a time."""
    _times: list[tuple[float, str]] = field(factory=list, init=False)
    """A heap of these times. Those that are no longer true stay in it until they have come."""

    def wake(self) -> None:
        """Let the threads and tasks that wait for a change look again."""
        with self.changed:
            self.changes += 1
            self.changed.notify_all()
            for notify in self.listeners:
                notify()

    def held(self) -> set[str]:
        """Return the keys of all leases."""
        with self.changed:
            return {*self._readers, *self._finished}

    def readers(self) -> list[ShardReader]:
        """Return a reader for each shard that is read."""
        with self.changed:
            return list(self._readers.values())

    def finished(self) -> list[HeldLease]:
        """Return the leases of shards that are read to their end."""
        with self.changed:
            return list(self._finished.values())

    def reader_of(self, key: str) -> ShardReader | None:
        """Return who reads the shard of the lease *key*."""
        with self.changed:
            return self._readers.get(key)

    def reads(self, reader: ShardReader) -> bool:
        """Return whether the shard is read by *reader*."""
        return self.reader_of(reader.key) is reader

    def add(self, reader: ShardReader) -> None:
        """Read a shard from now on."""
        reader.open()
        with self.changed:
            self._readers[reader.key] = reader
            self._changed[reader.key] = None

    def add_finished(self, held: HeldLease) -> None:
        """Keep the lease of a finished shard."""
        with self.changed:
            self._finished[held.key] = held

    def remove(self, reader: ShardReader, *, is_finished: bool = False) -> bool:
        """Read a shard no longer, and keep its lease if it *is_finished*. Returns False if another thread was first."""
        with self.changed:
            if self._readers.get(reader.key) is not reader:
                return False
            del self._readers[reader.key]
            if is_finished:
                self._finished[reader.key] = reader.held
        reader.close()
        return True

    def remove_finished(self, key: str) -> None:
        """Keep the lease of a finished shard no longer."""
        with self.changed:
            self._finished.pop(key, None)

    def put_ready(self, reader: ShardReader) -> None:
        """Let the batch of *reader* go out after those of others."""
        with self.changed:
            self._ready.append(reader.key)
            self.wake()

    def next_ready(self) -> ShardReader | None:
        """Return the reader whose batch goes out next, once; None if there is none."""
        with self.changed:
            while self._ready:
                reader = self._readers.get(self._ready.popleft())
                if reader is not None:
                    return reader
            return None

    def look_at(self, key: str) -> None:
        """Let a shard be looked at now, because something has changed."""
        with self.changed:
            self._changed[key] = None
            self.wake()

    def touch(self, keys: Iterable[str]) -> None:
        """Let these shards be looked at with the next one."""
        with self.changed:
            self._changed.update(dict.fromkeys(keys))

    def put_off(self, key: str, due_s: float) -> None:
        """Let a shard be looked at when it is *due_s*."""
        with self.changed:
            if self._due_s.get(key) != due_s:
                self._due_s[key] = due_s
                heapq.heappush(self._times, (due_s, key))

    def take_changed(self, now_s: float) -> list[str]:
        """Return the shards that need a check now, once."""
        with self.changed:
            while self._times and self._times[0][0] <= now_s:
                due_s, key = heapq.heappop(self._times)
                if self._due_s.get(key) == due_s:
                    del self._due_s[key]
                    self._changed[key] = None
            taken, self._changed = [*self._changed], {}
            return taken

    def next_s(self) -> float:
        """Return when the next shard that waits for a time is due."""
        with self.changed:
            return self._times[0][0] if self._times else float("inf")
