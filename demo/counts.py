"""The records that were put, counted and copied, which must agree in the end."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import frozen

WINDOW_S = 10

Cell = tuple[str, int]
"""A key, and the start of a window in seconds since the epoch."""
Copy = tuple[str, str]
"""Partition key and data of a record in the journal."""


@frozen
class Sighting:
    """A record of the producer, as JSON. The partition key is the city."""

    number: int
    city: str
    at_ms: int

    @property
    def cell(self) -> Cell:
        return self.city, self.at_ms // 1000 // WINDOW_S * WINDOW_S

    def to_json(self) -> str:
        return _to_json(self._facts())

    def copy(self, sequence_number: str, index: int) -> Copy:
        """Return the record that the journal must have for this one, *index* in the record of *sequence_number*."""
        return self.city, _to_json({**self._facts(), "sequence": sequence_number, "index": index})

    def _facts(self) -> dict[str, object]:
        return {"number": self.number, "city": self.city, "at": self.at_ms}


def _to_json(facts: dict[str, object]) -> str:
    return json.dumps(facts, separators=(",", ":"))  # as Spark writes it


@frozen
class Comparison:
    """The difference between the records that were put and those of the journal."""

    missing: Sequence[Copy]
    """Records that were put and are not in the journal."""
    unexpected: Sequence[Copy]
    """Records that are in the journal and were not put like this."""
    distinct: int
    """The number of different records in the journal that were put."""
    repeated: int
    """The number of repetitions of these records in the journal."""


class Counts:
    """
    Counts per key and window, and all records. Thread-safe.

    The producer adds each record that Kinesis acknowledged. The counting query reports its totals after each batch. A batch that
    runs twice reports the same totals twice. A record that is read twice makes a total too high.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._put: Counter[Cell] = Counter()
        self._counted: dict[Cell, int] = {}
        self._copies: list[Copy] = []
        self.batches = 0

    def add_put(self, sightings: Sequence[Sighting], sequence_number: str) -> None:
        with self._lock:
            self._put.update(sighting.cell for sighting in sightings)
            self._copies += [one.copy(sequence_number, index) for index, one in enumerate(sightings)]

    def set_counted(self, cells: Iterable[tuple[Cell, int]]) -> None:
        with self._lock:
            self._counted.update(cells)
            self.batches += 1

    @property
    def total_put(self) -> int:
        with self._lock:
            return len(self._copies)

    @property
    def total_counted(self) -> int:
        with self._lock:
            return sum(self._counted.values())

    def by_key(self) -> list[tuple[str, int, int, int, int]]:
        """Return for each key: the number of windows, how many of them agree, records put, records counted."""
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
        """Return every cell with different counts: the cell, records put, records counted."""
        with self._lock:
            cells = sorted(self._put.keys() | self._counted.keys())
            pairs = [(cell, self._put[cell], self._counted.get(cell, 0)) for cell in cells]
        return [(cell, put, counted) for cell, put, counted in pairs if put != counted]

    def compare(self, journal: Counter[Copy]) -> Comparison:
        """Compare the records that were put with those of the journal."""
        with self._lock:
            expected = dict.fromkeys(self._copies)
        found = [copy for copy in expected if copy in journal]
        return Comparison(
            missing=[copy for copy in expected if copy not in journal],
            unexpected=[copy for copy in journal if copy not in expected],
            distinct=len(found),
            repeated=sum(journal[copy] - 1 for copy in found),
        )
