"""Findings as lines and as JSON."""

from __future__ import annotations

from kinesis_cli.checkup.findings import Finding, Outcome
from kinesis_cli.output import show, show_json

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
