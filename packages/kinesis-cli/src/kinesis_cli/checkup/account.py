"""What the stream and the account have, and how much of it AWS allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.findings import Finding, ok, unchecked, warning
from kinesis_cli.fan_out import FanOutConsumer, list_consumers
from kinesis_cli.output import show_count, show_duration
from kinesis_core import ServiceError

_NEARLY = 0.9
MOST_CONSUMERS = 20
"""Of a stream; 50 in on-demand advantage mode."""
_LISTED = 20


def check_consumers(checked: CheckedStream, now_ms: int) -> Finding:
    """List the consumers, each of which costs money while it is registered."""
    if checked.arn is None:
        return unchecked("consumers", "the ARN of the stream is not known")
    try:
        return consumers_finding(list_consumers(checked.caller.call, checked.arn), now_ms)
    except ServiceError as error:
        return unchecked("consumers", str(error))


def consumers_finding(consumers: Sequence[FanOutConsumer], now_ms: int) -> Finding:
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
        yield from limit_findings(checked.caller.call("DescribeLimits"))
    except ServiceError as error:
        is_unknown = error.code.rpartition("#")[2] == "UnknownOperationException"
        yield unchecked("limits", "the server does not support DescribeLimits" if is_unknown else str(error))


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
