"""How `pytest -n` distributes test files over its processes."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

PAGES = "tests/docs/test_code_blocks.py"
"""Each of its tests is a page: a program with a Spark of its own."""
LONG = ("tests/soak/test_soak.py", "tests/chaos/test_chaos.py")
"""Tests that take minutes. They start first, and all other tests fill the time until they end."""


def put_long_ones_first(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return LONG.index(file) if file in LONG else len(LONG)

    items.sort(key=rank)  # a stable sort: the others stay in order


class FileByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """Gives each process one file at a time, or one page of the documentation."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file == PAGES else file
