"""The line of shards that wait for room in memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from attrs import define, field


@define(eq=False)
class Line:
    """
    Shards, by the keys of their leases, in the order in which they found no room. Thread-safe.

    While any shard waits, only one whose turn has come may take room: small pages would keep a large one from ever being read. One that
    finds no room in its turn stays the first.
    """

    _waiting: dict[str, None] = field(factory=dict, init=False)
    _called: dict[str, None] = field(factory=dict, init=False)
    """Those whose turn has come, until they are read or wait again."""
    _lock: Lock = field(factory=Lock, init=False)

    def may_go(self, key: str) -> bool:
        """Return whether a shard may take room that there is."""
        with self._lock:
            return not self._waiting or key in self._called

    def wait(self, key: str) -> None:
        """Let a shard wait for room."""
        with self._lock:
            if key in self._called:
                del self._called[key]
                self._waiting = {key: None, **self._waiting}
            else:
                self._waiting[key] = None

    def leave(self, key: str) -> None:
        """Let a shard wait no longer."""
        with self._lock:
            self._waiting.pop(key, None)
            self._called.pop(key, None)

    def call(self, take: Callable[[str], bool]) -> list[str]:
        """Call the first shards, as long as *take* says that there is room for the next one. Return their keys."""
        called = []
        with self._lock:
            while self._waiting and take(key := next(iter(self._waiting))):
                del self._waiting[key]
                self._called[key] = None
                called.append(key)
        return called
