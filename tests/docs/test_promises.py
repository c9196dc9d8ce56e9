"""Every promise on the page of promises names existing tests."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^\* \*\*.*?(?=^\* |^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def title(promise: str) -> str:
    return " ".join(promise.split("**")[1].split())


@lru_cache
def names_in(path: str) -> set[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return {name for name in functions if name.startswith("test_")}


@pytest.mark.parametrize("promise", PROMISES, ids=title)
def test_each_promise_is_kept_by_tests(promise: str) -> None:
    """Each promise names at least one test, and each named test exists."""
    named = NAMED.findall(promise)
    assert named
    assert [f"{path}::{name}" for path, name in named if name not in names_in(path)] == []


def test_nothing_else_is_named() -> None:
    """Every test on the page belongs to a promise, and is named by path and name."""
    assert len(PROMISES) > 30
    assert PAGE.count("`tests/") == sum(len(NAMED.findall(promise)) for promise in PROMISES)
