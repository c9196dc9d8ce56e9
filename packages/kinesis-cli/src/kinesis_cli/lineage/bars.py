"""A range of hash keys as a bar of characters. A character has two halves."""

from __future__ import annotations

from kinesis_core.model import HASH_KEYS

EMPTY, LEFT, RIGHT, FULL, THIN = "·▌▐█▏"


def bar(start: int, end: int, width: int) -> str:
    """
    Return all hash keys as *width* characters, with those from *start* to *end* filled.

    A half is filled if its middle is in the range. So shards that share the hash keys never fill the same half. A range that
    contains no middle is a thin line.
    """
    halves = [start <= HASH_KEYS * (2 * half + 1) // (4 * width) <= end for half in range(2 * width)]
    cells = [
        FULL if left and right else LEFT if left else RIGHT if right else EMPTY
        for left, right in zip(halves[::2], halves[1::2], strict=True)
    ]
    if not any(halves):
        cells[(start + end) // 2 * width // HASH_KEYS] = THIN
    return "".join(cells)
