"""All checks, in their order. A check that fails leaves the others running."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.credentials import check_credentials, check_identity
from kinesis_cli.checkup.findings import Finding, Outcome, failed, ok, unchecked
from kinesis_cli.checkup.permissions import check_fan_out, check_reading, check_writing
from kinesis_cli.checkup.stream import check_consumers, check_limits, check_stream, clock_finding
from kinesis_credentials import CredentialsError, CredentialSpec, RegionError

_REST = "Kinesis cannot be reached"


def run_checks(checked: CheckedStream, region_source: str, *, sink: bool, efo: bool) -> Iterator[Finding]:
    """Yield the findings one by one, as soon as they are known."""
    connection = checked.connection
    credentials = check_credentials(connection.credentials, connection.region)
    yield credentials
    yield ok("region", f"{connection.region_of(checked.ref)}, from {region_source}")
    if credentials.outcome is Outcome.FAILED:
        yield unchecked("everything else", "calls need credentials")
        return
    yield from check_stream(checked)
    yield check_identity(connection, checked.is_aws)
    if not checked.is_reachable:
        yield unchecked("everything else", _REST)
        return
    yield clock_finding(checked.api.now_ms(), _now_ms())
    yield from check_reading(checked)
    if sink:
        yield from check_writing(checked)
    if efo:
        yield from check_fan_out(checked)
    yield check_consumers(checked, _now_ms())
    yield from check_limits(checked)


def run_checks_without_connection(spec: CredentialSpec, error: CredentialsError) -> Iterator[Finding]:
    """Yield what can be found out where *error* says that there is no region, or not the profile that would name it."""
    yield check_credentials(spec, None)
    if isinstance(error, RegionError):
        yield failed("region", error)
    yield unchecked("everything else", "calls need credentials and a region")


def _now_ms() -> int:
    return int(time.time() * 1000)
