"""Whether the stream can be reached, what it is like, how far its account is from its limits, and what this machine's clock says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.findings import Finding, failed, ok, unchecked, warning
from kinesis_cli.output import show_count, show_duration, show_number
from kinesis_cli.traffic import show_mode
from kinesis_core import AccessDeniedError, ServiceError
from kinesis_core.aws import Consumer
from kinesis_core.model import StreamSummary

DESCRIBE = "kinesis:DescribeStreamSummary"


def check_stream(checked: CheckedStream) -> Iterator[Finding]:
    """Describe the stream."""
    try:
        summary = checked.summary = checked.api.describe(in_any_state=True)
    except AccessDeniedError as error:
        yield ok("endpoint", f"{checked.endpoint_url} responds")
        yield failed(DESCRIBE, error)
    except ServiceError as error:
        checked.note_error(error)
        if not checked.is_reachable:
            yield failed("endpoint", error)
            return
        yield ok("endpoint", f"{checked.endpoint_url} responds")
        yield failed("stream", error)
    else:
        yield ok("endpoint", f"{checked.endpoint_url} responds")
        yield _status(summary)
        yield ok(DESCRIBE, "allowed")
        kept = show_duration(summary.retention_hours * 3_600_000)
        yield ok("retention", f"{kept}: a reader that stops for longer loses records")


def _status(summary: StreamSummary) -> Finding:
    text = f"{summary.status}, {show_mode(summary)}, {show_number(summary.open_shards, 'open shard')}"
    if summary.is_encrypted:
        text += f", encrypted with {summary.key_id or 'a KMS key'}"
    if summary.status == "ACTIVE":
        return ok("stream", text)
    is_usable = summary.status == "UPDATING"
    return warning(
        "stream", f"{text}. {'Reading and writing continue.' if is_usable else 'Wait until it is ACTIVE.'}"
    )


_NEARLY = 0.9
MOST_CONSUMERS = 20
"""Of a stream; 50 in on-demand advantage mode."""
_LISTED = 20


def check_consumers(checked: CheckedStream, now_ms: int) -> Finding:
    """List the consumers. Each one costs money while it is registered."""
    if checked.arn is None:
        return unchecked("consumers", "the ARN of the stream is not known")
    try:
        return consumers_finding(checked.list_consumers(checked.arn), now_ms)
    except ServiceError as error:
        return unchecked("consumers", error)


def consumers_finding(consumers: Sequence[Consumer], now_ms: int) -> Finding:
    """Return the finding for the registered *consumers*."""
    if not consumers:
        return ok("consumers", "none registered for enhanced fan-out")
    named = ", ".join(
        f"{each.name} ({show_duration(max(0, now_ms - each.created_ms))} old)" for each in consumers[:_LISTED]
    )
    text = f"{len(consumers)} of {MOST_CONSUMERS} registered: {named}. Each costs money. 'kinesis consumers' removes those left behind."
    return warning("consumers", text) if len(consumers) >= _NEARLY * MOST_CONSUMERS else ok("consumers", text)


def check_limits(checked: CheckedStream) -> Iterator[Finding]:
    """Compare the shards and streams of the account with its limits."""
    try:
        yield from limit_findings(checked.api.ask("DescribeLimits"))
    except ServiceError as error:
        is_unknown = error.code == "UnknownOperationException"
        yield unchecked("limits", "the server does not support DescribeLimits" if is_unknown else error)


def limit_findings(limits: dict[str, Any]) -> Iterator[Finding]:
    """Return the findings for the response to DescribeLimits."""
    yield _limit("shards of the account", limits["OpenShardCount"], limits["ShardLimit"])
    if "OnDemandStreamCountLimit" in limits:
        yield _limit("on-demand streams", limits["OnDemandStreamCount"], limits["OnDemandStreamCountLimit"])


def _limit(what: str, used: int, limit: int) -> Finding:
    text = f"{show_count(used)} of {show_count(limit)} {what} in use"
    if used >= _NEARLY * limit:
        return warning("limits", f"{text}. Ask AWS for a higher quota before the stream is scaled.")
    return ok("limits", text)


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
