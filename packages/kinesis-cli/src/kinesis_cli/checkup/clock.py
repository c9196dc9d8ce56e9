"""How far the clock of this machine is from that of Kinesis."""

from __future__ import annotations

from kinesis_cli.checkup.findings import Finding, failed, ok, warning
from kinesis_cli.output import show_duration

_EXACT_MS = 2000
"""A Date header is cut to the second, and the response takes some time."""
_WARNED_MS, _REFUSED_MS = 60_000, 300_000


def clock_finding(service_ms: int, own_ms: int) -> Finding:
    """
    Return the finding for the two clocks.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html: AWS refuses signatures that are
    more than five minutes old.
    """
    ahead_ms = own_ms - service_ms
    if abs(ahead_ms) <= _EXACT_MS:
        return ok("clock", "right to within 2 s")
    side = "ahead of" if ahead_ms > 0 else "behind"
    text = f"this machine is {show_duration(abs(ahead_ms))} {side} Kinesis"
    if abs(ahead_ms) < _WARNED_MS:
        return ok("clock", text)
    text = f"{text}. AWS refuses calls from 5 min on. Set the clock, for example by NTP."
    return failed("clock", text) if abs(ahead_ms) >= _REFUSED_MS else warning("clock", text)
