"""However the bytes of a file come, its lines are the same."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from kinesis_cli.putting.lines import LineSplitter

_LIMIT = 6
texts = st.text("ab\n", max_size=60).map(str.encode)


@given(texts, st.lists(st.integers(0, 60)), st.booleans())
def test_blocks_do_not_matter(text: bytes, cuts: list[int], keep_empty: bool) -> None:
    """Every line of a file is a record, skipped as empty or named as too long, with its number, wherever blocks end."""
    splitter = LineSplitter(keep_empty=keep_empty, max_line_bytes=_LIMIT)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    found = [
        *(splitter.feed(text[start:stop]) for start, stop in pairwise(edges)),
        splitter.finish(),
    ]
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    expected = list(enumerate(lines, 1))
    assert [pair for rows in found for pair in zip(rows.numbers, rows.data, strict=True)] == [
        (number, line) for number, line in expected if len(line) <= _LIMIT and (line or keep_empty)
    ]
    assert [number for rows in found for number in rows.refused] == [
        number for number, line in expected if len(line) > _LIMIT
    ]
    assert sum(rows.empty for rows in found) == (0 if keep_empty else lines.count(b""))
