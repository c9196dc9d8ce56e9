"""The results of a server, as a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tools.conformance.running import Result
from tools.conformance.scenarios import HERE

FOLDER = HERE / "results"


@dataclass(frozen=True)
class Results:
    """Which scenarios a server passed, and how the others differed."""

    server: str
    version: str
    measured: str
    """The day, as in 2026-11-27."""
    passed: list[str]
    differences: dict[str, str]
    """By the names of the other scenarios."""

    @classmethod
    def of(cls, server: str, version: str, results: Iterable[Result]) -> Results:
        results = list(results)
        day = datetime.now(timezone.utc).date().isoformat()
        passed = [one.name for one in results if not one.difference]
        return cls(
            server, version, day, passed, {one.name: one.difference for one in results if one.difference}
        )

    @classmethod
    def read(cls, path: Path) -> Results:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        content = {
            "server": self.server,
            "version": self.version,
            "measured": self.measured,
            "passed": sorted(self.passed),
            "differences": dict(sorted(self.differences.items())),
        }
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_all() -> list[Results]:
    """Return the committed results, our emulator's first."""
    found = [Results.read(path) for path in FOLDER.glob("*.json")]
    return sorted(found, key=lambda one: (one.server != "kinesis-emulator", one.server))
