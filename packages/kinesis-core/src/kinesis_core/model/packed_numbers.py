"""
Tables of numbers as few bytes, where the numbers have most of their bytes in common, as the sequence numbers of a stream have.

A table is written column by column, where a column is one byte of every number. Columns with long runs of one byte are written as
their runs, the others as they are. Equal tables give equal bytes, on every machine and with every release.

    table     how many bytes a number has, then a column for each of them, the highest first
    column    0, then its bytes
              1, then for each run its length and its byte

There is nothing that says how many numbers a table has: the reader knows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from struct import iter_unpack

from attrs import define

from kinesis_core.errors import OffsetError

_PLAIN, _RUNS = 0, 1
_BYTES_OF_RUN = 4
"""At most, in a table of up to two million numbers."""
_NOT_ZERO = re.compile(rb"[^\0]")
_LONGEST_VARINT = 5


def write_count(count: int) -> bytes:
    """Return *count* in groups of seven bits, the lowest first. Each byte but the last has its highest bit set."""
    groups = bytearray()
    while count > 0x7F:
        groups.append(count & 0x7F | 0x80)
        count >>= 7
    groups.append(count)
    return bytes(groups)


def write_table(numbers: Sequence[int]) -> bytes:
    """
    Return a table.

    Raises:
        OverflowError: A number is negative, or has more than 255 bytes.
    """
    width = (max(numbers, default=0).bit_length() + 7) // 8
    if width == 0:
        return b"\0"
    rows = b"".join([number.to_bytes(width, "big") for number in numbers])
    columns = [_write_column(rows[place::width]) for place in range(width)]
    return b"".join([width.to_bytes(1, "big"), *columns])


def _write_column(column: bytes) -> bytes:
    as_number = int.from_bytes(column, "big")
    # Not 0 where a byte differs from the one before it. All are compared at once, as one large number.
    changes = (as_number ^ as_number >> 8).to_bytes(len(column), "big")
    if (len(column) - changes.count(0)) * _BYTES_OF_RUN >= len(column):
        return bytes([_PLAIN]) + column
    starts = [0, *(change.start() for change in _NOT_ZERO.finditer(changes, 1))]
    runs = [
        write_count(end - start) + column[start : start + 1]
        for start, end in pairwise([*starts, len(column)])
    ]
    return b"".join([bytes([_RUNS]), *runs])


@define
class PackedReader:
    """
    Reads what these functions have written.

    Every method raises `OffsetError` if the bytes are something else.
    """

    _packed: bytes
    _at: int = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._packed)

    def take(self, size: int) -> bytes:
        """Return the next *size* bytes."""
        found = self._packed[self._at : self._at + size]
        if len(found) < size:
            raise OffsetError("the packed shards are cut off")
        self._at += size
        return found

    def count(self) -> int:
        """Return a count of `write_count`."""
        count = 0
        for place in range(_LONGEST_VARINT):
            group = self.take(1)[0]
            count |= (group & 0x7F) << 7 * place
            if group < 0x80:
                return count
        raise OffsetError("a count of the packed shards is too large")

    def table(self, rows: int) -> list[int]:
        """Return the numbers of a table that has *rows* of them."""
        width = self.take(1)[0]
        if width == 0:
            return [0] * rows
        table = bytearray(width * rows)
        for place in range(width):
            table[place::width] = self._column(rows)
        return [int.from_bytes(number, "big") for (number,) in iter_unpack(f"{width}s", table)]

    def _column(self, rows: int) -> bytes:
        form = self.take(1)[0]
        if form == _PLAIN:
            return self.take(rows)
        if form != _RUNS:
            raise OffsetError(f"a column of the packed shards has the unknown form {form}")
        column = bytearray()
        while len(column) < rows:
            length = self.count()
            if not 0 < length <= rows - len(column):
                raise OffsetError("a run of the packed shards has a wrong length")
            column += self.take(1) * length
        return bytes(column)
