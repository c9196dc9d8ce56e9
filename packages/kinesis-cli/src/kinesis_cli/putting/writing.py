"""Puts lines, and keeps those apart that Kinesis would refuse."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, evolve, field

from kinesis_cli.putting.counts import Counts, place_of
from kinesis_cli.putting.keys import KeyRule
from kinesis_cli.putting.lines import Rows
from kinesis_cli.putting.valid import PutsColumns, put_valid

_SHOWN = 10
"""Lines with a note of their own. The others are counted."""


@define
class RowWriter:
    """Puts lines with their keys."""

    producer: PutsColumns
    note: Callable[[str], None]
    """Shows a line to the user."""
    key: KeyRule | None = None
    hash_key: KeyRule | None = None
    counts: Counts = field(factory=Counts)

    def write(self, rows: Rows) -> None:
        """
        Put *rows*. Those that cannot be written are counted and named, never shown.

        Raises:
            PutError: Earlier records could not be written.
        """
        self.counts.empty += rows.empty
        for number, reason in rows.refused.items():
            self._refuse(rows.source, number, reason)
        if rows.data:
            self._put(self._with_keys(rows))

    def _with_keys(self, rows: Rows) -> Rows:
        """Return *rows* with the keys that the rules give, without those for which they give none."""
        faults: dict[int, str] = {}
        if self.hash_key is not None:
            hash_keys, faults = self.hash_key.column(rows.data)
            rows = evolve(rows, hash_keys=hash_keys)
        if self.key is not None:
            keys, wrong = self.key.column(rows.data)
            rows, faults = evolve(rows, keys=keys), {**faults, **wrong}
        for index in sorted(faults):
            self._refuse(rows.source, rows.numbers[index], faults[index])
        return (
            rows.pick([index for index in range(len(rows.data)) if index not in faults]) if faults else rows
        )

    def _put(self, rows: Rows) -> None:
        if not rows.data:
            return
        refused = 0

        def refuse(index: int, reason: str) -> None:
            nonlocal refused
            refused += len(rows.data[index])
            self._refuse(rows.source, rows.numbers[index], reason)

        before = self.counts.not_written
        try:
            put_valid(self.producer, rows.data, rows.keys, rows.hash_keys, refuse)
        finally:  # after an error some may be written, and some not
            self.counts.put += len(rows.data) - (self.counts.not_written - before)
            self.counts.put_bytes += rows.size_bytes - refused
            self.counts.last = place_of(rows.source, rows.numbers[-1])

    def _refuse(self, source: str, number: int, reason: str) -> None:
        place = place_of(source, number)
        self.counts.refuse(place)
        if self.counts.not_written <= _SHOWN:
            self.note(f"{f'line {place}' if place.isdigit() else place} {reason}")
