"""The registered consumers of a stream. Each one costs money for every shard and hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kinesis_cli.ending import CommandError
from kinesis_cli.output import new_table, show_duration, show_time

if TYPE_CHECKING:
    from rich.table import Table

    from kinesis_core.aws import Consumer

_LISTED = 20
"""Names that an error has."""


def find(known: Sequence[Consumer], name_or_arn: str, stream: str) -> Consumer:
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


_STYLES = {"ACTIVE": "green", "CREATING": "yellow", "DELETING": "yellow"}


def consumer_table(consumers: Iterable[Consumer], now_ms: int) -> Table:
    """Return a table with a line for each consumer."""
    table = new_table("CONSUMER", "STATUS", "CREATED", "AGE", wrapped={"AGE"})
    for consumer in consumers:
        style = _STYLES.get(consumer.status, "")
        status = f"[{style}]{consumer.status}[/]" if style else consumer.status
        age = show_duration(max(0, now_ms - consumer.created_ms))
        table.add_row(consumer.name, status, show_time(consumer.created_ms), age)
    return table


def consumer_json(consumer: Consumer) -> dict[str, Any]:
    """Return the object for scripts."""
    return {
        "name": consumer.name,
        "arn": consumer.arn,
        "status": consumer.status,
        "created": show_time(consumer.created_ms),
    }
