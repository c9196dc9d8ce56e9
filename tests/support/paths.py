"""The folders of what tests import, for the processes that they start."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"


def python_path(*further: str | Path) -> str:
    """Return a PYTHONPATH with what tests can import, then this process' own, then the folders *further*."""
    own = filter(None, [os.environ.get("PYTHONPATH")])
    return os.pathsep.join(map(str, (TESTS, ROOT, *own, *further)))
