"""What must be so in the end, whatever happened: rows against the records of the stream that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from attrs import frozen

_SHOWN = 3
T = TypeVar("T", bound=Hashable)


@frozen
class Stored:
    """A record as the stream has it."""

    shard_id: str
    number: int
    key: str
    data: bytes


@frozen
class Row:
    """A record as it was written to a file: in which micro-batch, in which of its files, at which place."""

    batch: int
    file: str
    place: int
    record: Stored


def judge(
    acknowledged: Iterable[bytes], stored: Sequence[Stored], rows: Sequence[Row], copied: Iterable[bytes]
) -> list[str]:
    """
    Return what is wrong, in a line each; nothing when every promise was kept.

    Args:
        acknowledged: What a producer was told is in the stream.
        stored: What is there. A producer that gets no answer puts again, so the same data may be there twice.
        rows: What the files of the first query hold.
        copied: What the second query's stream holds.
    """
    found = Counter(row.record for row in rows)
    wanted = Counter(stored)
    return [
        *_lines(
            "acknowledged, but not in the stream", set(acknowledged) - {record.data for record in stored}
        ),
        *_lines("not in the files", (wanted - found).elements()),
        *_lines("in the files too often, or not as in the stream", (found - wanted).elements()),
        *_disorder(rows),
        *_lines("not in the second stream", (Counter(r.data for r in stored) - Counter(copied)).elements()),
    ]


def _disorder(rows: Iterable[Row]) -> list[str]:
    """A key's rows follow one another through batches, and within a batch through one file, as their numbers do."""
    seen: dict[str, Row] = {}
    wrong: list[str] = []
    for row in sorted(rows, key=lambda row: (row.batch, row.file, row.place)):
        before = seen.get(row.record.key)
        seen[row.record.key] = row
        if before is None:
            continue
        if (before.batch, before.file) != (row.batch, row.file) and before.batch == row.batch:
            wrong.append(f"{row.record.key} in {before.file} and {row.file}, batch {row.batch}")
        if before.record.number >= row.record.number:
            wrong.append(f"{row.record} in batch {row.batch} behind {before.record} in batch {before.batch}")
    return _lines("out of order", wrong)


def _lines(what: str, found: Iterable[object]) -> list[str]:
    """Return one line: how many, and the first of them."""
    texts = [str(one) for one in found]
    return [f"{len(texts)} {what}: {'; '.join(sorted(texts)[:_SHOWN])}"] if texts else []
