"""The loops of tests: each folder has one, and CONTRIBUTING.md says which."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.loops import FOLDERS, LOOPS, mark_loops
from support.paths import TESTS

PAGE = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`tests/[^|]*) \| (\w+) \|", re.MULTILINE)


@pytest.fixture
def item_in(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that makes a test in a folder, with markers."""

    def make(folder: str, *markers: str) -> pytest.Item:
        item = pytest.Function.from_parent(request.node.parent, name="test_something", callobj=lambda: None)
        item.path = TESTS / folder / "test_something.py"
        for marker in markers:
            item.add_marker(marker)
        return item

    return make


def loops_of(item: pytest.Item) -> set[str]:
    mark_loops([item])
    return {loop for loop in LOOPS if item.get_closest_marker(loop)}


def test_a_test_is_in_the_loop_of_its_folder(item_in: Callable[..., Any]) -> None:
    """A marker says otherwise. What needs another server, a page or a client of Spark Connect is in the largest loop."""
    assert loops_of(item_in("unit/kinesis_core/model")) == {"unit"}
    assert loops_of(item_in("unit/spark_kinesis_sink")) == {"tests"}
    assert loops_of(item_in("unit/kinesis_core/model", "everything")) == {"everything"}
    assert loops_of(item_in("spark", "tests")) == {"tests"}
    for marker in ("witness", "pasted", "connect", "engines", "libraries", "sdks", "yarn"):
        assert loops_of(item_in("docs", marker)) == {"everything"}


def test_a_folder_without_a_loop_is_an_error(item_in: Callable[..., Any]) -> None:
    """No test is left out of all loops by mistake."""
    for folder in ("new", "unit/new"):
        with pytest.raises(pytest.UsageError, match=r"test_something\.py is in no loop"):
            mark_loops([item_in(folder)])


def test_contributing_names_each_folder_and_its_loop() -> None:
    """The table of folders is complete, and right."""
    named = {
        folder: loop for cell, loop in ROW.findall(PAGE) for folder in re.findall(r"`tests/([\w/]+)`", cell)
    }
    assert named == FOLDERS
    tests = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert {path for path in tests if not any(path.is_relative_to(folder) for folder in FOLDERS)} == set()
    assert [folder for folder in FOLDERS if not Path(TESTS, folder).is_dir()] == []


def test_no_session_has_a_folder_of_tests_or_tools() -> None:
    """nox keeps the environment of a session in `.nox/SESSION`, and deletes all that is in it when it makes another one."""
    root = TESTS.parent
    decorated = re.compile(r"^@nox\.session.*\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)
    sessions = set(decorated.findall((root / "noxfile.py").read_text(encoding="utf-8")))
    sources = [
        path.read_text(encoding="utf-8") for top in (TESTS, root / "tools") for path in top.rglob("*.py")
    ]
    folders = {name for source in sources for name in re.findall(r'"\.nox" / "([\w-]+)"', source)}
    assert {"tests", "aws"} <= sessions
    assert "witness" in folders
    assert not sessions & folders
