"""What a run found, as JSON of a versioned shape and as Markdown. It has no account id, no ARN and no name of a resource."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

VERSION = 1
AWS, LOCAL = "aws", "local"


@frozen
class StepReport:
    name: str
    outcome: str
    """
    `passed`; `failed`: a check does not hold, or an error ended it; `timed out`; `over budget`: not started, or ended by the
    guard; `not run`: the time of the whole run was over, or the user stopped it.
    """
    seconds: float = 0.0
    error: str = ""
    checks: tuple[dict[str, Any], ...] = ()
    """Each with `check`, `holds` and `detail`."""


@frozen
class Report:
    """
    Shape of version 1: the fields of this class and of `StepReport`.

    Each fact has `value`, `unit`, `question` and `step`; a measured time also `least`, `most` and `samples`.
    """

    made: str
    """The day."""
    against: str
    """`aws` or `local`."""
    region: str
    commit: str
    seconds: float
    budget_usd: float
    spent_usd: float
    """What the run has counted. The bill may differ."""
    used: dict[str, float]
    steps: tuple[StepReport, ...]
    facts: dict[str, dict[str, Any]]
    not_asked: tuple[dict[str, str], ...]
    """Each with `question` and `reason`."""
    left: int = 0
    """Resources that could not be deleted."""
    version: int = field(default=VERSION)

    @property
    def not_passed(self) -> tuple[StepReport, ...]:
        return tuple(step for step in self.steps if step.outcome != "passed")

    @property
    def is_good(self) -> bool:
        return not self.left and not self.not_passed


def step_report(name: str, outcome: str, seconds: float, entries: list[dict[str, Any]]) -> StepReport:
    checks = tuple(entry for entry in entries if "check" in entry)
    errors = [entry["error"] for entry in entries if "error" in entry]
    return StepReport(name, outcome, round(seconds, 1), "; ".join(errors), checks)


def facts_of(step: str, entries: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in entries:
        if "fact" in entry:
            yield entry["fact"], {**{k: v for k, v in entry.items() if k != "fact"}, "step": step}


def not_asked_of(entries: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for entry in entries:
        if "not_asked" in entry:
            yield {"question": entry["not_asked"], "reason": entry["reason"]}


def write(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write the report in both forms, and return the files."""
    as_json, as_markdown = folder / "report.json", folder / "report.md"
    as_json.write_text(json.dumps(asdict(report), indent=2) + "\n")
    as_markdown.write_text("# A day on AWS\n\n" + "\n".join(markdown(report)) + "\n")
    return as_json, as_markdown


def read(path: Path) -> Report:
    """
    Return the report in a file of JSON.

    Raises:
        ValueError: It is not a report, or of another version.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        version = found.get("version")
    except (ValueError, AttributeError):
        raise ValueError(f"{path} is not a report of a day on AWS.") from None
    if version != VERSION:
        raise ValueError(f"{path} has version {version}; this program reads {VERSION}.")
    steps = tuple(StepReport(**{**step, "checks": tuple(step["checks"])}) for step in found["steps"])
    return Report(**{**found, "steps": steps, "not_asked": tuple(found["not_asked"])})


def markdown(report: Report) -> Iterator[str]:
    """Yield the lines of the report. They also are the section of the page on reliability."""
    where = f"AWS, {report.region}" if report.against == AWS else "local servers, so nothing here is AWS's"
    yield (
        f"{report.made}, commit {report.commit}: {report.seconds / 60:.0f} minutes against {where}. "
        f"{'Counted cost' if report.against == AWS else 'It would have cost'}: "
        f"${report.spent_usd:.2f} of ${report.budget_usd:.2f}."
    )
    yield from ("", "| step | outcome | seconds | checks that hold |", "| --- | --- | ---: | ---: |")
    for step in report.steps:
        held = f"{sum(check['holds'] for check in step.checks)} of {len(step.checks)}"
        yield f"| {step.name} | {step.outcome} | {step.seconds:.0f} | {held if step.checks else 'it only asks'} |"
    failed = [*_failures(report)]
    yield from ("", "What failed:", "", *failed) if failed else ()
    yield from ("", "| question | answer | from the step |", "| --- | --- | --- |")
    for name, fact in report.facts.items():
        yield f"| {_cell(fact['question'])} (`{name}`) | {_cell(_answer(fact))} | {fact['step']} |"
    if report.not_asked:
        yield from ("", "| not asked | reason |", "| --- | --- |")
        yield from (f"| {_cell(each['question'])} | {_cell(each['reason'])} |" for each in report.not_asked)
    if report.left:
        yield from ("", f"{report.left} resources could not be deleted.")


def _failures(report: Report) -> Iterator[str]:
    for step in report.steps:
        if step.error:
            yield f"* {step.name}: {_line(step.error)}"
        for check in step.checks:
            if not check["holds"]:
                yield f"* {step.name}: not so: {_line(check['check'])}. {_line(check['detail'])}".rstrip()


def _answer(fact: Mapping[str, Any]) -> str:
    value = fact["value"]
    if isinstance(value, dict):
        return ", ".join(f"{key}: {count}" for key, count in sorted(value.items())) or "none"
    text = f"{value} {fact['unit']}".rstrip()
    samples = fact.get("samples", 1)
    return text if samples == 1 else f"{text} ({fact['least']} to {fact['most']}, {samples} times)"


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(str(text)).replace("|", "\\|")
