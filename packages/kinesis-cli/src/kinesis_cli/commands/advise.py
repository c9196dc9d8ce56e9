"""The command `kinesis advise`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import UsageError
from kinesis_cli.output import show, show_json


def advise(
    stream: StreamName,
    /,
    *,
    sample: str = "30s",
    keys: int = 5,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> None:
    """
    Say which splits, merges or keys would help a stream.

    It prints calls of the AWS CLI, and makes none of them.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    sample
        How much of each open shard's latest records to read.
    keys
        How many keys to name of each hot shard.
    output
        Tables and sentences, or one JSON object.
    connect
        How to reach AWS.
    """
    from kinesis_cli.advice import AwsCli, draw, examine, report_json
    from kinesis_cli.moments import parse_sample
    from kinesis_core.aws import stream_client

    if keys < 0:
        raise UsageError(f"--keys is {keys}. Use 0 or more.")
    sample_ms = parse_sample(sample)
    connection = connect.to(stream)
    (ref,) = connection.streams
    report = examine(stream_client(connection, ref), sample_ms)
    region = connection.region_of(ref)
    calls = AwsCli(report.summary.arn, region, connect.endpoint_url, connect.profile, connect.role_arn)
    if output == "json":
        show_json(report_json(report, calls, keys))
    else:
        show(*draw(report, calls, keys))
