"""Adds up the reports of nox and pytest in a folder: one line per session, and one line for all tests."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def count_tests(results: Path) -> Counter[str]:
    """Return how many tests passed, failed and were skipped in all reports in *results*."""
    counts: Counter[str] = Counter()
    for report in results.glob("*.xml"):
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):  # noqa: S314 # pytest wrote it
            failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
            skipped = int(suite.attrib["skipped"])
            counts["failed"] += failed
            counts["skipped"] += skipped
            counts["passed"] += int(suite.attrib["tests"]) - failed - skipped
    return counts


def read_sessions(reports: list[Path]) -> dict[str, str]:
    """Return the outcome of every session. A missing report counts as a failed session."""
    outcomes: dict[str, str] = {}
    for report in reports:
        if not report.exists():
            outcomes[report.stem] = "failed"
            continue
        for session in json.loads(report.read_text())["sessions"]:
            outcomes.update(dict.fromkeys(session["signatures"] or [session["name"]], session["result"]))
    return outcomes


def main(folder: str, *runs: str) -> int:
    results = Path(folder)
    outcomes = read_sessions([results / f"{run}.json" for run in runs])
    counts = count_tests(results)
    for name, outcome in outcomes.items():
        sys.stdout.write(f"{name:32} {outcome}\n")
    bad = sum(outcome != "success" for outcome in outcomes.values())
    if bad and not counts["failed"]:
        counts["failed"] = bad
    sys.stdout.write(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped\n")
    return int(bad > 0 or counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
