"""The command `kinesis consumers`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import evolve
from cyclopts import Parameter

from kinesis_cli.completing import StreamName, completed, consumer_names
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import CommandError
from kinesis_cli.output import (
    WholeTable,
    confirm,
    new_table,
    note,
    show,
    show_duration,
    show_json,
    show_number,
    show_time,
)

if TYPE_CHECKING:
    from rich.table import Table

    from kinesis_core.aws import Connection, Consumer
    from kinesis_core.model import StreamSummary


def consumers(
    stream: StreamName,
    /,
    *,
    remove: Annotated[str | None, Parameter(negative=""), completed(consumer_names)] = None,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> None:
    """
    List the consumers of a stream that are registered for enhanced fan-out, or remove one.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    remove
        Remove this consumer, a name or an ARN. A reader that uses it fails.
    yes
        Do not ask before something is changed.
    output
        A table, or an object of JSON for each consumer.
    """
    from kinesis_core import StreamNotFoundError
    from kinesis_core.aws import consumer_client

    connection = connect.to(stream)
    api = consumer_client(connection, connection.streams[0])
    known = api.list_consumers()
    now_ms = int(time.time() * 1000)
    if remove is not None:
        found = _find(known, remove, stream)
        age = show_duration(max(0, now_ms - found.created_ms))
        confirm(
            f"Remove consumer {found.name} of {stream}, which is {found.status} and {age} old? Its readers fail.",
            yes=yes,
        )
        try:
            api.deregister_consumer(found.arn)
        except StreamNotFoundError:  # by now: the response to a first attempt may have been lost
            note(f"Consumer {found.name} of {stream} is removed.")
        else:
            note(f"Consumer {found.name} of {stream} is being removed.")
    elif output == "json":
        for consumer in known:
            show_json(_json(consumer))
    else:
        if known:
            show(WholeTable(_table(known, now_ms)))
        else:
            note(f"Stream {stream} has no registered consumers.")
        if words := _queue_note(connection):
            note(words)


_LISTED = 20
"""Names that an error has."""


def _find(known: Sequence[Consumer], name_or_arn: str, stream: str) -> Consumer:
    """
    Return the consumer of that name or ARN.

    Raises:
        CommandError: There is none. The message names those that there are.
    """
    for consumer in known:
        if name_or_arn in (consumer.name, consumer.arn):
            return consumer
    names = ", ".join(consumer.name for consumer in known[:_LISTED])
    others = f"It has {names}." if names else "It has none."
    raise CommandError(f"Stream {stream} has no consumer {name_or_arn}. {others}")


_PATIENCE_S = 3.0
"""How long a throttle of what comes behind the list is waited out."""


def _queue_note(connection: Connection) -> str:
    """Return a sentence on the queues of the stream, or on why they are unknown: the list is whole without it."""
    from kinesis_core import ServiceError
    from kinesis_core.aws import RetryPolicy, stream_client

    retry = RetryPolicy(max_retries=1, throttle_timeout_s=_PATIENCE_S)
    try:
        api = stream_client(evolve(connection, retry=retry), connection.streams[0])
        return queue_words(api.describe(in_any_state=True))
    except ServiceError as error:
        return f"Whether it has queues is unknown: DescribeStreamSummary ended with {error.code}."


def queue_words(summary: StreamSummary) -> str:
    """Return a sentence on the queues of a stream. Empty: it has none, or the server does not report them."""
    if not summary.queues:
        return ""
    return f"It also has {show_number(summary.queues, 'queue')}, which the limit counts as consumers."


_STYLES = {"ACTIVE": "green", "CREATING": "yellow", "DELETING": "yellow"}


def _table(consumers: Iterable[Consumer], now_ms: int) -> Table:
    """Return a table with a line for each consumer."""
    table = new_table("CONSUMER", "STATUS", "CREATED", "AGE", wrapped={"AGE"})
    for consumer in consumers:
        style = _STYLES.get(consumer.status, "")
        status = f"[{style}]{consumer.status}[/]" if style else consumer.status
        age = show_duration(max(0, now_ms - consumer.created_ms))
        table.add_row(consumer.name, status, show_time(consumer.created_ms), age)
    return table


def _json(consumer: Consumer) -> dict[str, Any]:
    """Return the object for scripts."""
    return {
        "name": consumer.name,
        "arn": consumer.arn,
        "status": consumer.status,
        "created": show_time(consumer.created_ms),
    }
