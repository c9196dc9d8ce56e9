"""Puts lines, keeps those apart that Kinesis would refuse, and counts both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from attrs import define, evolve, field

from kinesis_cli.output import note, show_count, show_json, show_number
from kinesis_cli.putting.keys import KeyRule
from kinesis_cli.putting.lines import LineRows, TextColumn
from kinesis_core import InvalidRecordError, Totals

_NAMED = 20
"""Lines that are named in the last line."""


class PutsColumns(Protocol):
    """The part of a producer that is needed here."""

    def put_columns(
        self, data: Sequence[bytes], partition_keys: TextColumn = None, explicit_hash_keys: TextColumn = None
    ) -> None: ...


@define
class PutCounts:
    """The records of one command."""

    put: int = 0
    """Records that were given to the producer."""
    put_bytes: int = 0
    not_written: int = 0

    def put_all(
        self,
        producer: PutsColumns,
        data: Sequence[bytes],
        keys: TextColumn,
        hash_keys: TextColumn,
        refuse: Callable[[int, str], None],
    ) -> None:
        """
        Put and count records. For those that Kinesis would refuse, *refuse* gets the index and the reason.

        Raises:
            PutError: Earlier records could not be written. Some of these may be written, and some not.
        """
        refused: list[int] = []

        def note(index: int, reason: str) -> None:
            refused.append(index)
            refuse(index, reason)

        try:
            _put_valid(producer, data, keys, hash_keys, note)
        finally:
            self.put += len(data) - len(refused)
            self.put_bytes += sum(map(len, data)) - sum(len(data[index]) for index in refused)

    def as_json(self, stream: str, totals: Totals) -> dict[str, Any]:
        """Return the object for scripts: what came of all records, of which *totals* were written."""
        return {
            "stream": stream,
            "written": totals.user_records,
            "recordsOfKinesis": totals.records,
            "notWritten": self.not_written,
            "maybeMissing": self.put - totals.user_records,
            "sentAgain": totals.resent + totals.misplaced,
        }


@define
class LineCounts(PutCounts):
    """The lines of one command."""

    empty: int = 0
    places: list[str] = field(factory=list)
    """The first of the lines that were not written."""
    last: str = ""
    """The last line that was given to the producer."""

    def refuse(self, place: str) -> None:
        """Count a line that is not written."""
        self.not_written += 1
        if len(self.places) < _NAMED:
            self.places.append(place)

    def as_json(self, stream: str, totals: Totals) -> dict[str, Any]:
        return {**super().as_json(stream, totals), "emptyLines": self.empty}

    def summary(self, stream: str, written: int, resent: int) -> str:
        """Return the last line of the command."""
        parts = [f"{show_number(written, 'record')} written to {stream}"]
        if self.not_written:
            parts.append(f"{show_count(self.not_written)} not written ({self._named()})")
        if self.empty:
            parts.append(f"{show_number(self.empty, 'empty line')} skipped")
        if resent:
            parts.append(f"{show_count(resent)} sent again, which may be in the stream twice")
        return ", ".join(parts)

    def _named(self) -> str:
        more = self.not_written - len(self.places)
        return name_places(self.places) + (f" and {show_count(more)} more" if more else "")


def show_counts(
    counts: PutCounts, stream: str, totals: Totals, text: str = "", *, as_json: bool = False
) -> None:
    """Show what came of all records: as an object on the standard output, else as *text*, if any, on the standard error."""
    if as_json:
        show_json(counts.as_json(stream, totals))
    elif text:
        note(text)


def name_places(places: Sequence[str]) -> str:
    """Return the names of lines: `line 3`, `lines 3, 17` of the standard input, `a.jsonl:3` of files."""
    is_of_stdin = all(place.isdigit() for place in places)
    return (f"line{'s' * (len(places) != 1)} " if is_of_stdin else "") + ", ".join(places)


def place_of(source: str, number: int) -> str:
    """Return how a line is named: by its number, after the name of its file. A whole file has the number 0."""
    if not number:
        return source or "standard input"
    return f"{source}:{number}" if source else str(number)


def _put_valid(
    producer: PutsColumns,
    data: Sequence[bytes],
    keys: TextColumn,
    hash_keys: TextColumn,
    refuse: Callable[[int, str], None],
    first: int = 0,
) -> None:
    """
    Put the records, in their order. *refuse* gets the index, from *first*, of those that Kinesis would refuse.

    A producer puts all records of a call or none. So halves are put, until the bad ones are alone.
    """
    try:
        producer.put_columns(data, keys, hash_keys)
    except InvalidRecordError as error:
        count = len(data)
        if count == 1:
            refuse(first, _reason(error))
            return
        for start, stop in ((0, count // 2), (count // 2, count)):
            columns = [column and column[start:stop] for column in (keys, hash_keys)]
            _put_valid(producer, data[start:stop], columns[0], columns[1], refuse, first + start)


def _reason(error: InvalidRecordError) -> str:
    """Return the message about the one row of a call, as what a line is or has."""
    text = re.sub(r"^The record ", "", str(error).rstrip("."))
    return re.sub(r"^The (.*) of the record ", r"has a wrong \1: it ", text)


_SHOWN = 10
"""Lines with their own note. The others are counted."""


@define
class RowWriter:
    """Puts lines with their keys."""

    producer: PutsColumns
    note: Callable[[str], None]
    """Shows a line to the user."""
    key: KeyRule | None = None
    hash_key: KeyRule | None = None
    counts: LineCounts = field(factory=LineCounts)

    def write(self, rows: LineRows) -> None:
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

    def _with_keys(self, rows: LineRows) -> LineRows:
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

    def _put(self, rows: LineRows) -> None:
        if not rows.data:
            return
        self.counts.last = place_of(rows.source, rows.numbers[-1])
        self.counts.put_all(
            self.producer,
            rows.data,
            rows.keys,
            rows.hash_keys,
            lambda index, reason: self._refuse(rows.source, rows.numbers[index], reason),
        )

    def _refuse(self, source: str, number: int, reason: str) -> None:
        place = place_of(source, number)
        self.counts.refuse(place)
        if self.counts.not_written <= _SHOWN:
            self.note(f"{f'line {place}' if place.isdigit() else place} {reason}")
