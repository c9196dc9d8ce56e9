"""Puts lines, and keeps those apart that Kinesis would refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, evolve, field

from kinesis_cli.putting.counts import Counts, place_of
from kinesis_cli.putting.keys import KeyRule
from kinesis_cli.putting.lines import Column, Rows
from kinesis_core import InvalidRecordError, PutError

_SHOWN = 10
"""Lines with a note of their own. The others are counted."""


class PutsColumns(Protocol):
    """The part of a producer that is needed here."""

    def put_columns(
        self, data: Sequence[bytes], partition_keys: Column = None, explicit_hash_keys: Column = None
    ) -> None: ...


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
        """Put *rows*. If Kinesis would refuse some, halves are put, until these are found."""
        if not rows.data:
            return
        try:
            self.producer.put_columns(rows.data, rows.keys, rows.hash_keys)
        except PutError:
            self._count(rows)  # some may be written, and some not
            raise
        except InvalidRecordError as error:
            count = len(rows.data)
            if count == 1:
                self._refuse(rows.source, rows.numbers[0], _reason(error))
                return
            self._put(rows.part(0, count // 2))
            self._put(rows.part(count // 2, count))
        else:
            self._count(rows)

    def _count(self, rows: Rows) -> None:
        self.counts.put += len(rows.data)
        self.counts.put_bytes += rows.size_bytes
        self.counts.last = place_of(rows.source, rows.numbers[-1])

    def _refuse(self, source: str, number: int, reason: str) -> None:
        place = place_of(source, number)
        self.counts.refuse(place)
        if self.counts.not_written <= _SHOWN:
            self.note(f"{f'line {place}' if place.isdigit() else place} {reason}")


def _reason(error: InvalidRecordError) -> str:
    """Return the message about the one row of a call, as what a line is or has."""
    text = re.sub(r"^Row 0 ", "", str(error).rstrip("."))
    return re.sub(r"^The (.*) of row 0 ", r"has a wrong \1: it ", text)
