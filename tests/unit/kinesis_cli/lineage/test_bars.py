"""Ranges of hash keys as bars."""

from __future__ import annotations

import pytest

from kinesis_cli.lineage import bar
from kinesis_core.model import HASH_KEYS

QUARTER = HASH_KEYS // 4


@pytest.mark.parametrize(
    ("start", "end", "drawn"),
    [
        (0, HASH_KEYS - 1, "████"),
        (0, QUARTER - 1, "█···"),
        (QUARTER, 3 * QUARTER - 1, "·██·"),
        (QUARTER // 2, QUARTER - 1, "▐···"),
        (3 * QUARTER, 3 * QUARTER + QUARTER // 2 - 1, "···▌"),
        (HASH_KEYS - 9, HASH_KEYS - 1, "···▏"),
        (0, 0, "▏···"),
    ],
)
def test_bars(start: int, end: int, drawn: str) -> None:
    """A bar fills what a shard has, to half a character. A shard that is smaller is a thin line."""
    assert bar(start, end, 4) == drawn
