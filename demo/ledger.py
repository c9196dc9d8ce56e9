"""What was put, and what came of it: the sides that must agree in the end."""

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
    """What the producer puts, as JSON; the partition key is the city."""

    number: int
    city: str
    at_ms: int

    @property
    def cell(self) -> Cell:
        return self.city, self.at_ms // 1000 // WINDOW_S * WINDOW_S

    def to_json(self) -> str:
        return _to_json(self._facts())

    def copy(self, sequence_number: str, place: int) -> Copy:
        """Return the record that the journal must have when this one is in *place* of the record of that number."""
        return self.city, _to_json({**self._facts(), "sequence": sequence_number, "place": place})

    def _facts(self) -> dict[str, object]:
        return {"number": self.number, "city": self.city, "at": self.at_ms}


def _to_json(facts: dict[str, object]) -> str:
    return json.dumps(facts, separators=(",", ":"))  # as Spark writes it


@frozen
class Comparison:
    """What the journal must have against what it has."""

    missing: Sequence[Copy]
    """What was put and is not there."""
    strange: Sequence[Copy]
    """What is there and was not put like that."""
    distinct: int
    """How many different records of those that were put are there."""
    repeated: int
    """How many are there once more than they need to be."""


class Ledger:
    """
    Counts per key and window, and every single record. Thread-safe.

    The producer adds what Kinesis acknowledged. The counting query says, batch by batch, what it has counted so
    far: a batch that is run twice says the same thing twice, and a record that is read twice shows as one too many.
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
            self._copies += [one.copy(sequence_number, place) for place, one in enumerate(sightings)]

    def note_counted(self, cells: Iterable[tuple[Cell, int]]) -> None:
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

    def compare(self, journal: Counter[Copy]) -> Comparison:
        """Compare what was put with what the journal has, record by record."""
        with self._lock:
            expected = dict.fromkeys(self._copies)
        found = [copy for copy in expected if copy in journal]
        return Comparison(
            missing=[copy for copy in expected if copy not in journal],
            strange=[copy for copy in journal if copy not in expected],
            distinct=len(found),
            repeated=sum(journal[copy] - 1 for copy in found),
        )
