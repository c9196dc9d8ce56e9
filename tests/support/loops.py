"""
Which loop a test is in: `unit`, `tests` or `everything`. The sessions of these names in noxfile.py run them.

A folder has a loop. A test or a file that is in another loop than its folder has that loop's marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from support.paths import TESTS

LOOPS = ("unit", "tests", "everything")
FOLDERS = {
    "unit/kinesis_cli": "unit",
    "unit/kinesis_consumer": "unit",
    "unit/kinesis_core": "unit",
    "unit/kinesis_credentials": "unit",
    "unit/kinesis_emulator": "unit",
    "unit/spark_kinesis_sink": "tests",
    "unit/spark_kinesis_source": "tests",
    "property": "unit",
    "native": "tests",
    "bench": "tests",
    "cli": "tests",
    "aws": "tests",
    "conformance": "tests",
    "consumer": "tests",
    "contract": "tests",
    "credentials": "tests",
    "docs": "tests",
    "effects": "tests",
    "faults": "tests",
    "packaging": "tests",
    "chaos": "everything",
    "connect": "everything",
    "engines": "everything",
    "kcl": "everything",
    "pipelines": "everything",
    "sdks": "everything",
    "soak": "everything",
    "spark": "everything",
    "witnesses": "everything",
    "yarn": "everything",
}
NEED_MORE = ("connect", "engines", "libraries", "pasted", "sdks", "witness", "yarn")
"""Markers of tests that need more than Python and Java: their loop is `everything`, whatever that of their folder or function."""


def variants(values: Sequence[Any], kept: int = 1) -> list[Any]:
    """
    Return *values* to parametrize a test with: the first *kept* in the loop of its folder, the others in `everything`.

    A tuple is a value for each of several arguments.
    """
    rest = (value if isinstance(value, tuple) else (value,) for value in values[kept:])
    return [*values[:kept], *(pytest.param(*value, marks=pytest.mark.everything) for value in rest)]


def mark_loops(items: list[pytest.Item]) -> None:
    """
    Give each test the marker of its loop.

    Raises:
        pytest.UsageError: A test is in a folder without a loop.
    """
    for item in items:
        if any(item.get_closest_marker(name) for name in NEED_MORE):
            item.add_marker("everything")
        elif not any(item.get_closest_marker(loop) for loop in LOOPS):
            item.add_marker(_loop_of(item))
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("everything")  # there it tries more examples


def _loop_of(item: pytest.Item) -> str:
    folders = item.path.relative_to(TESTS).parts
    loop = FOLDERS.get("/".join(folders[:2])) or FOLDERS.get(folders[0])
    if loop is None:
        raise pytest.UsageError(f"{item.path} is in no loop. Add its folder to FOLDERS in {__file__}.")
    return loop
