"""What the table of another connector has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from attrs import field, frozen

from kinesis_core.options.option import Parser

ParserForm = Callable[[Parser[Any]], Parser[Any]]
"""Returns, for the parser of our option, that of a name with another unit or other values."""

ALL_IN_CHECKPOINT = "Spark's checkpoint holds all progress"
NO_EMPTY_BATCHES = "a stream without new records runs no batches"
NO_SUCH_SETTING = "this connector has no such setting"
NO_WAIT = "a task waits until its rows are written, unless a shard accepts nothing for recordTtlMs"


class Origin(Enum):
    """The connectors whose option names are understood."""

    AWSLABS = "awslabs"
    QUBOLE = "qubole"
    DATABRICKS = "Databricks"
    GLUE = "AWS Glue"


@frozen
class Connector:
    """The names that a connector has for options, as it writes them."""

    origin: Origin
    names: Mapping[str, str | tuple[str, ParserForm]]
    """By the name of our option: its name, and the form of its values if that differs from ours."""
    ignored_by_source: Mapping[str, str] = field(factory=dict)
    """By reason: names that have no effect on our source, separated by spaces. A name may end in `*`."""
    ignored_by_sink: Mapping[str, str] = field(factory=dict)
    """The same for our sink."""


def same(ours: str, prefix: str = "") -> dict[str, str]:
    """Return the names of a connector that are *ours*, separated by spaces, after *prefix*."""
    return {name: f"{prefix}{name}" for name in names_in(ours)}


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in *text*, which spaces separate."""
    return tuple(text.split())
