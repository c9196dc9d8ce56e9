"""What came of each call with each SDK: the file from which the table of the documentation is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")


def read() -> dict[str, Any]:
    """Return the title, the version and the calls of each SDK. A call has true, or the reason why the SDK cannot make it."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def write(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
