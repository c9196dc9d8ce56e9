"""The command `kinesis doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import Status
from kinesis_cli.output import note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinesis_cli.checkup import Finding


def doctor(
    stream: StreamName,
    /,
    *,
    sink: Annotated[bool, Parameter(negative="")] = False,
    efo: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> Status:
    """
    Check all that reading a stream needs.

    Nothing is changed, and no record is read or written.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    sink
        Check also what writing needs.
    efo
        Check also what enhanced fan-out needs.
    output
        Lines, or an object of JSON for each check.
    """
    from kinesis_cli.checkup import show_finding, status_of, summary

    findings = []
    for finding in _check(stream, connect, sink=sink, efo=efo):
        show_finding(finding, output)
        findings.append(finding)
    note(summary(findings))
    return status_of(findings)


def _check(stream: str, connect: Connect, *, sink: bool, efo: bool) -> Iterator[Finding]:
    from kinesis_cli.checkup import CheckedStream, run_checks, run_checks_without_connection
    from kinesis_credentials import CredentialsError, DefaultChain

    try:
        connection = connect.to(stream)
    except CredentialsError as error:
        return run_checks_without_connection(connect.credentials or DefaultChain(), error)
    return run_checks(CheckedStream.of(connection), connect.region_source(stream), sink=sink, efo=efo)
