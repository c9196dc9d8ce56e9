"""Reads the log of `kinesis_core` in the Python processes that Spark starts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

VARIABLE = "KINESIS_TESTS_LOG"
SITE = Path(__file__).parent / "log_site"
"""A folder for PYTHONPATH."""


class PythonLog:
    """The lines since the last `clear`, of all processes of the session."""

    def __init__(self) -> None:
        self._file = Path(os.environ[VARIABLE])
        self._start = 0
        self.clear()

    def clear(self) -> None:
        self._start = len(self._read())

    def lines(self, event: str) -> list[str]:
        """Return the lines of *event*."""
        return [line for line in self._read()[self._start :] if line.startswith(f"{event} ")]

    def retries(self, *streams: str) -> Counter[str]:
        """Return the number of retries per call to these streams. Every line must have a reason."""
        facts = [dict(word.split("=", 1) for word in line.split()[1:]) for line in self.lines("call.retried")]
        assert all(fact["reason"] and fact["stream"] and int(fact["attempt"]) > 0 for fact in facts)
        # Processes of earlier queries may still remove their consumers.
        return Counter(fact["call"] for fact in facts if fact["stream"].rpartition("/")[2] in streams)

    def _read(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []
