"""Checks of everything that reading or writing a stream needs: credentials, endpoint, clock, permissions, consumers, limits."""

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.checks import run_checks, run_checks_without_connection
from kinesis_cli.checkup.findings import Finding, show_finding, status_of, summary

__all__ = [
    "CheckedStream",
    "Finding",
    "run_checks",
    "run_checks_without_connection",
    "show_finding",
    "status_of",
    "summary",
]
