"""How files of tests are shared out among the processes that `pytest -n` starts."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

PAGES = "tests/docs/test_code_blocks.py"
"""Each page in it is a program with a Spark of its own, and shares nothing with the others."""
LONG = ("tests/soak/test_soak.py", "tests/chaos/test_chaos.py")
"""Tests of minutes: begun before all others, which fill the time until these end."""


def put_long_ones_first(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return LONG.index(file) if file in LONG else len(LONG)

    items.sort(key=place)  # which leaves all others in their order


class FileByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """Gives a process one file after the other, and of the documentation one page."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file == PAGES else file
