"""The command `kinesis consumers`."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.output import WholeTable, confirm, note, show, show_duration, show_json


def consumers(
    stream: str,
    /,
    *,
    remove: Annotated[str | None, Parameter(negative="")] = None,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> None:
    """
    List the consumers of a stream that are registered for enhanced fan-out, or remove one.

    Parameters
    ----------
    stream
        The stream.
    remove
        Remove this consumer, a name or an ARN. A reader that uses it fails.
    yes
        Do not ask before a consumer is removed.
    output
        A table, or an object of JSON for each consumer.
    """
    from kinesis_cli.fan_out import consumer_json, consumer_table, find
    from kinesis_core.aws import consumer_client

    connection = connect.to(stream)
    api = consumer_client(connection, connection.streams[0])
    known = api.list_consumers()
    now_ms = int(time.time() * 1000)
    if remove is not None:
        found = find(known, remove, stream)
        age = show_duration(max(0, now_ms - found.created_ms))
        confirm(
            f"Remove consumer {found.name} of {stream}, which is {found.status} and {age} old? Its readers fail.",
            yes=yes,
        )
        api.deregister_consumer(found.arn)
        note(f"Consumer {found.name} of {stream} is being removed.")
    elif output == "json":
        for consumer in known:
            show_json(consumer_json(consumer))
    elif known:
        show(WholeTable(consumer_table(known, now_ms)))
    else:
        note(f"Stream {stream} has no registered consumers.")
