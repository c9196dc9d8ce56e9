"""The command `kinesis shards`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import UsageError
from kinesis_cli.output import show, show_json


def shards(
    stream: StreamName,
    /,
    *,
    sample: str = "10s",
    no_sample: Annotated[bool, Parameter(negative="")] = False,
    most: Annotated[int, Parameter(alias="-n")] = 50,
    all: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> None:
    """
    Show the shards of a stream: lineage, hash keys, state, and how busy they are.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    sample
        How much of each open shard's latest records to read, to see how busy it is.
    no_sample
        Read no records.
    most
        How many open shards to show, the busiest first. Their ancestors come in addition.
    all
        Show all shards.
    output
        A tree of lines, or one JSON object with all shards.
    connect
        How to reach AWS.
    """
    from kinesis_cli.lineage import choose, draw, look, overview_json
    from kinesis_cli.moments import parse_sample
    from kinesis_core.aws import stream_client

    if most < 1:
        raise UsageError(f"--most is {most}. Use 1 or more.")
    sample_ms = None if no_sample else parse_sample(sample)
    connection = connect.to(stream)
    overview = look(stream_client(connection, connection.streams[0]), sample_ms)
    if output == "json":
        show_json(overview_json(overview))
    else:
        show(*draw(overview, choose(overview.shards, overview.samples, None if all else most)))
