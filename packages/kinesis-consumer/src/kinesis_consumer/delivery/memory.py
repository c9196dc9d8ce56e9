"""How much data the readers of a worker have in memory."""

from __future__ import annotations

from threading import Lock

from attrs import define, field


@define
class MemoryUse:
    """The data in memory, in bytes. Thread-safe."""

    size_bytes: int = field(default=0, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def add(self, size_bytes: int) -> None:
        """Count data that came; a negative number if it went."""
        with self._lock:
            self.size_bytes += size_bytes
