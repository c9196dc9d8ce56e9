"""Blocks of bytes become lines with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from attrs import define, field, frozen

MAX_LINE_BYTES = 10 * 1024 * 1024
"""No stream accepts a larger record. Of a longer line nothing is kept, so that memory stays bounded."""
TOO_LONG = "is longer than any record, 10 MiB"

T = TypeVar("T")
TextColumn = Sequence["str | None"] | None


@frozen
class LineRows:
    """Lines, or whole files, that follow each other."""

    source: str
    """The file that they come from; "" for the standard input."""
    numbers: Sequence[int]
    """The line of each, from 1. A whole file has 0."""
    data: Sequence[bytes]
    refused: Mapping[int, str] = field(factory=dict)
    """Lines between them that are not records, by their number, and why."""
    empty: int = 0
    """Empty lines that were skipped."""
    keys: TextColumn = None
    """The partition key of each, if they are known."""
    hash_keys: TextColumn = None

    def pick(self, indexes: Sequence[int]) -> LineRows:
        """Return the lines at *indexes*."""

        def picked(column: Sequence[T]) -> list[T]:
            return [column[index] for index in indexes]

        keys, hash_keys = self.keys and picked(self.keys), self.hash_keys and picked(self.hash_keys)
        return LineRows(self.source, picked(self.numbers), picked(self.data), keys=keys, hash_keys=hash_keys)

    def without_data(self) -> LineRows:
        """Return what is known of the lines that are not records."""
        return LineRows(self.source, (), (), self.refused, self.empty)

    def part(self, start: int, stop: int) -> LineRows:
        keys, hash_keys = self.keys and self.keys[start:stop], self.hash_keys and self.hash_keys[start:stop]
        return LineRows(
            self.source, self.numbers[start:stop], self.data[start:stop], keys=keys, hash_keys=hash_keys
        )

    def parts(self, size: int) -> Iterator[LineRows]:
        """Yield these lines, at most *size* at a time."""
        return (self.part(start, start + size) for start in range(0, len(self.data), size))


@define
class LineSplitter:
    """Splits the bytes of one file at *separator*, which the lines do not contain."""

    source: str = ""
    separator: bytes = b"\n"
    keep_empty: bool = False
    max_line_bytes: int = MAX_LINE_BYTES
    lines: int = field(default=0, init=False)
    """Lines so far."""
    _rest: list[bytes] = field(factory=list, init=False)
    """The beginning of the next line, in pieces: joined once, a long line costs no more than a short one."""
    _rest_bytes: int = field(default=0, init=False)

    def feed(self, block: bytes) -> LineRows:
        """Return the lines that end in *block*, which follows the earlier blocks."""
        ended, *lines = block.split(self.separator)
        self._keep(ended)
        if not lines:
            return LineRows(self.source, (), ())
        first, last = self._take(), lines.pop()
        self._keep(last)
        if len(block) <= self.max_line_bytes:
            return self._rows([first, *lines])
        return self._rows([first, *(line if len(line) <= self.max_line_bytes else None for line in lines)])

    def finish(self) -> LineRows:
        """Return the last line, if it has no separator after it."""
        return self._rows([self._take()] if self._rest_bytes else [])

    def _keep(self, piece: bytes) -> None:
        self._rest_bytes += len(piece)
        if self._rest_bytes > self.max_line_bytes:
            self._rest.clear()
        elif piece:
            self._rest.append(piece)

    def _take(self) -> bytes | None:
        """Return the line that was kept; None if it is too long."""
        line = None if self._rest_bytes > self.max_line_bytes else b"".join(self._rest)
        self._rest, self._rest_bytes = [], 0
        return line

    def _rows(self, lines: Sequence[bytes | None]) -> LineRows:
        first = self.lines + 1
        self.lines += len(lines)
        numbers: Sequence[int] = range(first, first + len(lines))
        found = [line for line in lines if line is not None]
        refused = {number: TOO_LONG for number, line in zip(numbers, lines, strict=True) if line is None}
        if refused:
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line is not None]
        empty = 0 if self.keep_empty else found.count(b"")
        if empty:
            numbers = [number for number, line in zip(numbers, found, strict=True) if line]
            found = [line for line in found if line]
        return LineRows(self.source, numbers, found, refused, empty)
