"""Writes the figures of a report into the page on reliability, and into the facts that the emulator takes its defaults from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.sections import write_section
from kinesis_emulator.facts import PATH
from support.paths import ROOT
from tools.aws.findings import scrub
from tools.aws.report import AWS, Report, markdown

PAGE = ROOT / "docs" / "reliability.md"
SECTION = "aws"
NAMES = {"children_listed_after_s": "hide_children_s"}
"""What the emulator calls a fact, where that is another name than the report's."""
NOISE = 0.05
"""A measurement that differs by no more than this share confirms a value."""


def publish(report: Report, say: Callable[[str], None], page: Path = PAGE, facts: Path = PATH) -> int:
    """
    Write the section of *page* and the file *facts*. Return the exit status.

    Raises:
        ValueError: The report is not of AWS, or it has what must not be published.
    """
    if report.against != AWS:
        raise ValueError("This report is of local servers. Only figures of AWS are published.")
    text = "\n".join(markdown(report))
    if scrub(text) != text:
        raise ValueError("The report has an account id, an ARN, a name or an address. Nothing was written.")
    write_section(page, SECTION, text)
    say(f"wrote {page}")
    known = json.loads(facts.read_text())
    for name, value in measured(report).items():
        if name in known:
            known[name] = revised(known[name], value, f"{report.made}, {report.region}")
            say(f"{name} is {known[name]['value']}")
    facts.write_text(json.dumps(known, indent=2) + "\n")
    say(f"wrote {facts}")
    return 0


def measured(report: Report) -> dict[str, float]:
    """Return the measured times of *report* under the emulator's names."""
    return {
        NAMES.get(name, name): fact["value"]
        for name, fact in report.facts.items()
        if fact.get("samples") and isinstance(fact["value"], int | float)
    }


def revised(fact: dict[str, Any], value: float, when: str) -> dict[str, Any]:
    """Return *fact* after a measurement. The source stays, so that the page that a value contradicts can be found."""
    is_confirmed = abs(value - fact["value"]) <= NOISE * fact["value"]
    return {**fact, "value": fact["value"] if is_confirmed else value, "measured": when}
