"""Puts lines, and keeps those apart that Kinesis would refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field

from kinesis_cli.putting.counts import Counts, place_of
from kinesis_cli.putting.keys import KeyRule
from kinesis_cli.putting.lines import Rows
from kinesis_core import InvalidRecordError, PutError

_SHOWN = 10
"""Lines with a note of their own. The others are counted."""

Column = Sequence["str | None"] | None


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
        """Put *rows*. If Kinesis would refuse some, halves are put, until these are found."""
        if not rows.data:
            return
        try:
            self.producer.put_columns(rows.data, keys, hash_keys)
        except PutError:
            self._count(rows)  # some may be written, and some not
            raise
        except InvalidRecordError as error:
            count = len(rows.data)
            if count == 1:
                self._refuse(rows.source, rows.numbers[0], _reason(error))
                return
            for start, stop in ((0, count // 2), (count // 2, count)):
                columns = (column and column[start:stop] for column in (keys, hash_keys))
                self._put(rows.part(start, stop), *columns)
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
