"""Blocks of bytes become lines with their numbers."""

from __future__ import annotations

import pytest

from kinesis_cli.putting import LineRows
from kinesis_cli.putting.lines import LineSplitter


def split(*blocks: bytes, **settings: object) -> list[LineRows]:
    splitter = LineSplitter(**settings)  # type: ignore[arg-type]
    found = [*(splitter.feed(block) for block in blocks), splitter.finish()]
    return [rows for rows in found if rows.data or rows.refused or rows.empty]


def numbered(rows: list[LineRows]) -> list[tuple[int, bytes]]:
    return [pair for each in rows for pair in zip(each.numbers, each.data, strict=True)]


def test_lines_have_no_newline() -> None:
    """A line is a record without its newline. The last one needs none."""
    assert numbered(split(b"a\nb\r\nc")) == [(1, b"a"), (2, b"b\r"), (3, b"c")]
    assert numbered(split(b"a\nb\n")) == [(1, b"a"), (2, b"b")]


def test_another_separator() -> None:
    """With NUL as the separator, newlines are data."""
    assert numbered(split(b"a\nb\0c\0", separator=b"\0")) == [(1, b"a\nb"), (2, b"c")]


def test_a_line_without_end_keeps_no_memory() -> None:
    """Of a line that is longer than any record nothing is kept, and it is named."""
    splitter = LineSplitter(max_line_bytes=4)
    assert splitter.feed(b"a\nbcd").data == [b"a"]
    for _ in range(100):
        splitter.feed(b"efgh")
        assert sum(map(len, splitter._rest)) <= 4
    rows = splitter.feed(b"\nok\n")
    assert (list(rows.numbers), rows.data, list(rows.refused)) == ([3], [b"ok"], [2])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_parts(size: int) -> None:
    """Parts are the same lines with the same numbers, in order."""
    (rows,) = split(b"a\n\nb\nc\nd\ne\n")
    parts = list(rows.parts(size))
    assert numbered(parts) == numbered([rows])
    assert max(len(part.data) for part in parts) <= size
