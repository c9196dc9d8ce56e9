"""Counts the calls that the emulator received, including the refused ones."""

from __future__ import annotations

import threading
from collections import Counter


class Calls:
    """How often each action was called, per stream, shard and format."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str | None, str | None, str]] = Counter()

    def add(self, action: str, stream: str | None, shard_id: str | None, wire_format: str = "json") -> None:
        with self._lock:
            self._counts[action, stream, shard_id, wire_format] += 1

    def count(
        self,
        action: str | None = None,
        stream: str | None = None,
        shard_id: str | None = None,
        *,
        wire_format: str | None = None,
    ) -> int:
        """Return the number of calls that match; None matches everything. *wire_format* is "json" or "cbor"."""
        wanted = (action, stream, shard_id, wire_format)
        with self._lock:
            return sum(
                count
                for call, count in self._counts.items()
                if all(want is None or want == have for want, have in zip(wanted, call, strict=True))
            )

    def by_action(self) -> dict[str, int]:
        """Return the number of calls of each action."""
        totals: Counter[str] = Counter()
        with self._lock:
            for (action, _, _, _), count in self._counts.items():
                totals[action] += count
        return dict(totals)

    def clear(self) -> None:
        """Set all counts to zero."""
        with self._lock:
            self._counts.clear()
