"""The programs of the page about engines, as a reader writes them."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from docs.blocks import blocks
from support.paths import TESTS

PAGE = TESTS.parent / "docs" / "howto" / "arrow-engines.md"
MAX_LINES = 60


def recipe(name: str, folder: Path) -> Any:
    """Write the program *name* of the page into *folder*, and return it as a module."""
    (block,) = (each for each in blocks(PAGE) if each.title == f"{name}.py")
    assert len(block.text.splitlines()) < MAX_LINES
    path = folder / block.title
    path.write_text(block.text, encoding="utf-8")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
