"""Puts lines, and keeps those apart that Kinesis would refuse."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from kinesis_cli.putting.counts import Counts, place_of
from kinesis_cli.putting.keys import KeyRule
from kinesis_cli.putting.lines import Rows
from kinesis_cli.putting.valid import Column, PutsColumns, put_valid

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
        for number in rows.too_long:
            self._refuse(rows.source, number, "is longer than any record, 10 MiB")
        if not rows.data:
            return
        faults: dict[int, str] = {}
        columns: list[Column] = []
        for rule in (self.key, self.hash_key):
            keys, wrong = rule.column(rows.data) if rule else (None, {})
            columns.append(keys)
            faults = {**wrong, **faults}
        for index in sorted(faults):
            self._refuse(rows.source, rows.numbers[index], faults[index])
        if faults:
            kept = [index for index in range(len(rows.data)) if index not in faults]
            rows = rows.pick(kept)
            columns = [column and [column[index] for index in kept] for column in columns]
        self._put(rows, *columns)

    def _put(self, rows: Rows, keys: Column, hash_keys: Column) -> None:
        if not rows.data:
            return
        refused = 0

        def refuse(index: int, reason: str) -> None:
            nonlocal refused
            refused += len(rows.data[index])
            self._refuse(rows.source, rows.numbers[index], reason)

        before = self.counts.not_written
        try:
            put_valid(self.producer, rows.data, keys, hash_keys, refuse)
        finally:  # after an error some may be written, and some not
            self.counts.put += len(rows.data) - (self.counts.not_written - before)
            self.counts.put_bytes += rows.size_bytes - refused
            self.counts.last = place_of(rows.source, rows.numbers[-1])

    def _refuse(self, source: str, number: int, reason: str) -> None:
        place = place_of(source, number)
        self.counts.refuse(place)
        if self.counts.not_written <= _SHOWN:
            self.note(f"{f'line {place}' if place.isdigit() else place} {reason}")
