"""The registered consumers of a stream, each of which costs money for every shard and hour."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kinesis_cli.ending import CommandError
from kinesis_cli.output import show_duration, show_time

if TYPE_CHECKING:
    from rich.table import Table


_LISTED = 20
"""Names that an error has."""

CallAction = Callable[..., dict[str, Any]]
"""Calls an action of Kinesis, and returns the response."""


@frozen
class FanOutConsumer:
    """A registered consumer."""

    name: str
    arn: str
    status: str
    """CREATING, ACTIVE or DELETING."""
    created_ms: int


def list_consumers(call: CallAction, stream_arn: str) -> list[FanOutConsumer]:
    """
    Return all consumers of a stream, by name.

    Unlike ListShards, ListStreamConsumers requires the ARN on each page.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreamConsumers.html
    """
    found: list[FanOutConsumer] = []
    token: dict[str, str] = {}
    while True:
        page = call("ListStreamConsumers", StreamARN=stream_arn, **token)
        found += map(_consumer, page["Consumers"])
        if not page.get("NextToken"):
            return sorted(found, key=lambda consumer: consumer.name)
        token = {"NextToken": page["NextToken"]}


def find(consumers: Iterable[FanOutConsumer], name_or_arn: str, stream: str) -> FanOutConsumer:
    """
    Return the consumer of that name or ARN.

    Raises:
        CommandError: There is none. The message names those that there are.
    """
    known = list(consumers)
    for consumer in known:
        if name_or_arn in (consumer.name, consumer.arn):
            return consumer
    names = ", ".join(consumer.name for consumer in known[:_LISTED])
    others = f"It has {names}." if names else "It has none."
    raise CommandError(f"Stream {stream} has no consumer {name_or_arn}. {others}")


def remove_consumer(call: CallAction, consumer: FanOutConsumer) -> None:
    """Remove *consumer*. Its subscriptions end."""
    call("DeregisterStreamConsumer", ConsumerARN=consumer.arn)


def _consumer(facts: Any) -> FanOutConsumer:
    created_ms = round(facts["ConsumerCreationTimestamp"].timestamp() * 1000)
    return FanOutConsumer(facts["ConsumerName"], facts["ConsumerARN"], facts["ConsumerStatus"], created_ms)


_STYLES = {"ACTIVE": "green", "CREATING": "yellow", "DELETING": "yellow"}


def consumer_table(consumers: Iterable[FanOutConsumer], now_ms: int) -> Table:
    """Return a table with a line for each consumer."""
    from rich.table import Table

    table = Table("CONSUMER", "STATUS", "CREATED", "AGE", box=None, header_style="bold", pad_edge=False)
    for consumer in consumers:
        style = _STYLES.get(consumer.status, "")
        status = f"[{style}]{consumer.status}[/]" if style else consumer.status
        age = show_duration(max(0, now_ms - consumer.created_ms))
        table.add_row(consumer.name, status, show_time(consumer.created_ms), age)
    return table


def consumer_json(consumer: FanOutConsumer) -> dict[str, Any]:
    """Return the object for scripts."""
    return {
        "name": consumer.name,
        "arn": consumer.arn,
        "status": consumer.status,
        "created": show_time(consumer.created_ms),
    }
