"""What a step finds: checks that hold or not, figures, and questions that it did not ask. Each is on the disk at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

_SECRETS = (
    (re.compile(r"\barn:aws[\w-]*:\S+"), "ARN"),
    (re.compile(r"kinesis-day-[0-9a-f]{12}-[\w.-]+"), "STREAM"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b"), "KEY"),
    (re.compile(r"(?<!shardId-)\b\d{12}\b"), "ACCOUNT"),
    (re.compile(r"https?://\S+"), "URL"),
)


def scrub(text: str) -> str:
    """Return *text* without account ids, ARNs, names, access keys and addresses."""
    for pattern, word in _SECRETS:
        text = pattern.sub(word, text)
    return text


@frozen
class Findings:
    """Writes to the file of a step."""

    path: Path

    def check(self, what: str, holds: bool, detail: object = "") -> None:
        """Note whether *what* holds. *detail* is what was seen instead."""
        self._write(
            {"check": what, "holds": bool(holds), "detail": "" if holds else scrub(str(detail))[:500]}
        )

    def fact(self, name: str, value: object, question: str, unit: str = "") -> None:
        """Note the answer to a question, under a name that stays the same over the versions."""
        self._write({"fact": name, "value": value, "question": question, "unit": unit})

    def times(self, name: str, seconds: Iterable[float], question: str) -> None:
        """Note measured times: their median, and the shortest and the longest."""
        found = sorted(round(each, 3) for each in seconds)
        if not found:
            return
        self._write(
            {
                "fact": name,
                "value": round(median(found), 3),
                "question": question,
                "unit": "s",
                "least": found[0],
                "most": found[-1],
                "samples": len(found),
            }
        )

    def not_asked(self, question: str, reason: str) -> None:
        self._write({"not_asked": question, "reason": scrub(reason)})

    def failed(self, error: BaseException) -> None:
        self._write({"error": scrub(f"{type(error).__name__}: {error}")[:1000]})

    def ended(self) -> None:
        self._write({"ended": True})

    def _write(self, entry: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return what a step has written; a kill may have cut off the last line."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]
