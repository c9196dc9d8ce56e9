"""What was put, and what the query counted: the two sides that must agree in the end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

WINDOW_S = 10

Cell = tuple[str, int]
"""A key, and the start of a window in seconds since the epoch."""


def window_of(event_ms: int) -> int:
    """Return the start of the window that *event_ms* falls into, in seconds."""
    return event_ms // 1000 // WINDOW_S * WINDOW_S


class Ledger:
    """
    Counts per key and window, from both sides. Thread-safe.

    The producer adds what Kinesis acknowledged. The query says, batch by batch, what it has counted so far: a
    batch that is run twice says the same thing twice, and a record that is read twice shows as one too many.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._put: Counter[Cell] = Counter()
        self._counted: dict[Cell, int] = {}
        self.batches = 0

    def add_put(self, cells: Mapping[Cell, int]) -> None:
        with self._lock:
            self._put.update(cells)

    def note_counted(self, cells: Iterable[tuple[Cell, int]]) -> None:
        with self._lock:
            self._counted.update(cells)
            self.batches += 1

    @property
    def total_put(self) -> int:
        with self._lock:
            return self._put.total()

    @property
    def total_counted(self) -> int:
        with self._lock:
            return sum(self._counted.values())

    def by_key(self) -> list[tuple[str, int, int, int, int]]:
        """Return for each key: its windows, how many of them agree, records put, records counted."""
        with self._lock:
            cells = sorted(self._put.keys() | self._counted.keys())
            rows = []
            for key in dict.fromkeys(key for key, _ in cells):
                own = [cell for cell in cells if cell[0] == key]
                agreeing = sum(self._put[cell] == self._counted.get(cell, 0) for cell in own)
                put = sum(self._put[cell] for cell in own)
                rows.append((key, len(own), agreeing, put, sum(self._counted.get(cell, 0) for cell in own)))
            return rows

    def differences(self) -> list[tuple[Cell, int, int]]:
        """Return every cell on which the sides differ, with what was put and what was counted."""
        with self._lock:
            cells = sorted(self._put.keys() | self._counted.keys())
            pairs = [(cell, self._put[cell], self._counted.get(cell, 0)) for cell in cells]
        return [(cell, put, counted) for cell, put, counted in pairs if put != counted]
