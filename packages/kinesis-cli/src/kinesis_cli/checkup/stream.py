"""Whether the stream can be reached, and what it is like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.findings import Finding, failed, ok, warning
from kinesis_cli.output import show_duration
from kinesis_core import AccessDeniedError, ServiceError

DESCRIBE = "kinesis:DescribeStreamSummary"


def check_stream(checked: CheckedStream) -> Iterator[Finding]:
    """Describe the stream."""
    try:
        summary = checked.describe()
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
        yield ok("retention", _retention(summary))


def _status(summary: dict[str, Any]) -> Finding:
    mode = summary.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED").lower().replace("_", "-")
    shards = summary.get("OpenShardCount", 0)
    text = f"{summary['StreamStatus']}, {mode}, {shards} open shard{'s' * (shards != 1)}"
    if summary.get("EncryptionType", "NONE") != "NONE":
        text += f", encrypted with {summary.get('KeyId', 'a KMS key')}"
    if summary["StreamStatus"] == "ACTIVE":
        return ok("stream", text)
    advice = (
        "Reading and writing go on." if summary["StreamStatus"] == "UPDATING" else "Wait until it is ACTIVE."
    )
    return warning("stream", f"{text}. {advice}")


def _retention(summary: dict[str, Any]) -> str:
    hours = int(summary["RetentionPeriodHours"])
    return f"{show_duration(hours * 3_600_000)}: a reader that stops for longer loses records"
