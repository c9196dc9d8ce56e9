"""Consumers as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kinesis_cli.fan_out.consumers import FanOutConsumer
from kinesis_cli.output import show_duration, show_time

if TYPE_CHECKING:
    from rich.table import Table

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
