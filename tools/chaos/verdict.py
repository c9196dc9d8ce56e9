"""Compares rows with the records of the stream: what must hold in the end, whatever failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from attrs import frozen

from tools.chaos.driver import End

_SHOWN = 3
T = TypeVar("T", bound=Hashable)


@frozen
class Stored:
    """A record in the stream."""

    shard_id: str
    number: int
    key: str
    data: bytes


@frozen
class Row:
    """A record in a file, with its micro-batch, file and index in the file."""

    batch: int
    file: str
    index: int
    record: Stored


def judge(
    acknowledged: Iterable[bytes], stored: Sequence[Stored], rows: Sequence[Row], copied: Iterable[bytes]
) -> list[str]:
    """
    Return a line for each problem; an empty list when every promise was kept.

    Args:
        acknowledged: The records that were acknowledged to the producer.
        stored: The records of the stream. Data may be there twice, because a producer without a response puts again.
        rows: The rows in the files of the first query.
        copied: The records in the stream of the second query.
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


def judge_play(ends: Iterable[End], reshards: int, *, played: int) -> list[str]:
    """
    Return a line for each thing that happened though the run did not play it, or the reverse.

    A kill of the driver is no end by itself. Of other kills, faults and reshards no query may die.
    """
    return [
        *(f"the driver ended by itself: {_in_a_cell(end.words)}" for end in ends if not end.is_impatience),
        *(
            [f"{played} reshards were played, but the stream has had {reshards}"]
            if reshards != played
            else []
        ),
    ]


def _in_a_cell(text: str) -> str:
    """Return *text* without what divides the cells of a table, and the problems in a cell."""
    return text.replace("|", "/").replace(";", ",")


def _disorder(rows: Iterable[Row]) -> list[str]:
    """Return a line for each key whose rows are out of order, over batches and within a batch's one file."""
    seen: dict[str, Row] = {}
    wrong: list[str] = []
    for row in sorted(rows, key=lambda row: (row.batch, row.file, row.index)):
        before = seen.get(row.record.key)
        seen[row.record.key] = row
        if before is None:
            continue
        if (before.batch, before.file) != (row.batch, row.file) and before.batch == row.batch:
            wrong.append(f"{row.record.key} in {before.file} and {row.file}, batch {row.batch}")
        if before.record.number >= row.record.number:
            wrong.append(f"{row.record} in batch {row.batch} after {before.record} in batch {before.batch}")
    return _lines("out of order", wrong)


def _lines(what: str, found: Iterable[object]) -> list[str]:
    """Return one line with the number of problems and the first of them."""
    texts = [str(one) for one in found]
    return [f"{len(texts)} {what}: {'; '.join(sorted(texts)[:_SHOWN])}"] if texts else []
