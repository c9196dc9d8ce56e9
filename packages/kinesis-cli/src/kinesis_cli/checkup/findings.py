"""What a check has found, and how it is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum

from attrs import frozen

from kinesis_cli.ending import Status
from kinesis_cli.output import show, show_json
from kinesis_cli.wording import in_words_of_commands


class Outcome(Enum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    """It works, and may not do so for long."""
    FAILED = "failed"
    UNCHECKED = "not checked"


@frozen
class Finding:
    """One line of the checklist."""

    check: str
    """What was checked: `clock`, or an IAM action."""
    outcome: Outcome
    text: str
    """What was found, and what to do about it."""


def ok(check: str, text: str) -> Finding:
    return Finding(check, Outcome.OK, text)


def warning(check: str, text: str) -> Finding:
    return Finding(check, Outcome.WARNING, text)


def failed(check: str, text: object) -> Finding:
    return Finding(check, Outcome.FAILED, in_words_of_commands(text))


def unchecked(check: str, text: object) -> Finding:
    return Finding(check, Outcome.UNCHECKED, in_words_of_commands(text))


def status_of(findings: Iterable[Finding]) -> Status:
    """Return the exit status: a failed check is a problem, and nothing else is."""
    return Status.INCOMPLETE if any(each.outcome is Outcome.FAILED for each in findings) else Status.DONE


def summary(findings: Iterable[Finding]) -> str:
    """Return the last line: how many checks had which outcome."""
    counts = Counter(each.outcome for each in findings)
    parts = [f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]]
    return ", ".join(parts)


_STYLES = {
    Outcome.OK: "green",
    Outcome.WARNING: "yellow",
    Outcome.FAILED: "bold red",
    Outcome.UNCHECKED: "dim",
}
_OUTCOME_WIDTH = max(len(outcome.value) for outcome in Outcome)
_CHECK_WIDTH = len("kinesis:DeregisterStreamConsumer")


def show_finding(finding: Finding, output: str) -> None:
    """Write *finding* to the standard output: as one line, or as an object of JSON."""
    if output == "json":
        outcome = {Outcome.UNCHECKED: "unchecked"}.get(finding.outcome, finding.outcome.value)
        show_json({"check": finding.check, "outcome": outcome, "text": finding.text})
        return
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 2))
    line.add_column(min_width=_OUTCOME_WIDTH)
    line.add_column(min_width=_CHECK_WIDTH)
    line.add_column(overflow="fold")
    line.add_row(
        Text(finding.outcome.value, _STYLES[finding.outcome]), Text(finding.check), Text(finding.text)
    )
    show(line)
