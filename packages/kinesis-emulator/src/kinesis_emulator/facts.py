"""
Facts about the service that the emulator's defaults are taken from, each with its source: `facts.json`.

A day on AWS measures them: `python3 noxfile.py -s aws -- publish REPORT` writes what it measured into the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("facts.json")
FACTS: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
"""By name: `value`, `source`, and `measured`, the day and region of a measurement or null."""


def fact(name: str) -> Any:
    """Return the value of a fact."""
    return FACTS[name]["value"]
