"""Which shards a worker looks at next. A worker with a thousand shards cannot look at all of them after each batch."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from threading import Lock

from attrs import define, field


@define
class Schedule:
    """The leases whose shards have changed, or whose time has come. Thread-safe."""

    _changed: dict[str, None] = field(factory=dict, init=False)
    """In the order in which they changed."""
    _due_s: dict[str, float] = field(factory=dict, init=False)
    """When to look at a shard that waits for a time."""
    _times: list[tuple[float, str]] = field(factory=list, init=False)
    """A heap of these times. Those that are no longer true stay in it until they have come."""
    _lock: Lock = field(factory=Lock, init=False)

    def touch(self, keys: Iterable[str]) -> None:
        """Let these shards be looked at."""
        with self._lock:
            self._changed.update(dict.fromkeys(keys))

    def put_off(self, key: str, due_s: float) -> None:
        """Let a shard be looked at when it is *due_s*."""
        with self._lock:
            if self._due_s.get(key) != due_s:
                self._due_s[key] = due_s
                heapq.heappush(self._times, (due_s, key))

    def take(self, now_s: float) -> list[str]:
        """Return what is to be looked at now, once."""
        with self._lock:
            while self._times and self._times[0][0] <= now_s:
                due_s, key = heapq.heappop(self._times)
                if self._due_s.get(key) == due_s:
                    del self._due_s[key]
                    self._changed[key] = None
            taken, self._changed = [*self._changed], {}
            return taken

    def next_s(self) -> float:
        """Return when the next shard that waits for a time is due."""
        with self._lock:
            return self._times[0][0] if self._times else float("inf")
