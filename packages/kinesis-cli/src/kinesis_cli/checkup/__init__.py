"""Checks of everything that reading or writing a stream needs: credentials, endpoint, clock, permissions, consumers, limits."""

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.checks import run_checks, run_checks_without_connection
from kinesis_cli.checkup.credentials import describe_source, mask
from kinesis_cli.checkup.findings import Finding, Outcome, show_finding, status_of, summary
from kinesis_cli.checkup.stream import check_limits, clock_finding, limit_findings

__all__ = [
    "CheckedStream",
    "Finding",
    "Outcome",
    "check_limits",
    "clock_finding",
    "describe_source",
    "limit_findings",
    "mask",
    "run_checks",
    "run_checks_without_connection",
    "show_finding",
    "status_of",
    "summary",
]
