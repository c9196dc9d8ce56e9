"""
Write docs/reference/events.md from the declarations of the events.

    python -m docs.generate_events           writes the page
    python -m docs.generate_events --check   shows how the page differs from the declarations, and exits with 1
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import kinesis_consumer.events
import kinesis_core.events
import kinesis_credentials.events
import kinesis_emulator.events
import spark_kinesis_sink.events
import spark_kinesis_source.events
from docs.generate_options import render_rows, update

PAGE = Path(__file__).parent / "reference" / "events.md"
PACKAGES = (
    kinesis_core.events,
    kinesis_credentials.events,
    kinesis_consumer.events,
    spark_kinesis_source.events,
    spark_kinesis_sink.events,
    kinesis_emulator.events,
)
COMMON = {
    "stream": "the stream, as the option names it; in `call.retried` its ARN, where that is known",
    "shard": "the shard's id",
    "reason": "why, in a sentence",
    "consumer": "the consumer's name or ARN",
    "table": "the name of the lease table",
}
"""The facts that events share."""
INTRODUCTION = """\
# Events in the log

<!-- Made by docs/generate_events.py from the module `events` of each package. Change that, and run it again. -->

Each package logs to the logger of its name, by the standard library's `logging`. A line is one event with its facts:

    batch.planned stream=orders shards=4 duration_s=0.031 lag_ms=0

Python shows warnings and errors by itself. With `KINESIS_LOG_LEVEL=INFO` in the environment, the packages show more, on the
standard error of the process that logs:

    2026-11-22 20:55:54,087 INFO kinesis_core batch.planned stream=orders shards=4 duration_s=0.031 lag_ms=0

Planning runs in a Python process of its own next to the driver, and tasks run in Python workers. So logging that your program
configures shows nothing of them: [See the log](../howto/logs.md). A plain Python program does the driver's part and the tasks'
part in one process.

A handler for structured logs finds the facts, as text, in the record's attribute `context`. Spark's own handler does so from
Spark 4.1 on, for batch queries.

* **WARNING**: something needs attention.
* **INFO**: one line for each batch, retry or change. While nothing is new there is no line.
* **DEBUG**: one line for each range of a shard, and details of how a query starts.

No event holds data of records, partition keys or secrets. Sequence numbers and ids of shards do appear.

Facts that many events have:

"""


class Event(Protocol):
    """What the page shows of the declaration of an event."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def facts(self) -> Mapping[str, str]: ...
    @property
    def optional(self) -> Mapping[str, str]: ...
    @property
    def example(self) -> str: ...


def render(packages: Mapping[str, Iterable[Event]]) -> str:
    """Return the page for the events of *packages*, by logger."""
    lines = [INTRODUCTION.rstrip("\n"), ""]
    lines += render_rows(("fact", "meaning"), ((f"`{key}`", meaning) for key, meaning in COMMON.items()))
    for logger, events in packages.items():
        lines += ["", f"## {logger}", ""]
        lines += render_rows(("event", "level", "where", "meaning", "facts"), map(_row, events))
        lines += ["", *(f"    {event.example}" for event in events)]
    return "\n".join(lines) + "\n"


def _row(event: Event) -> tuple[str, ...]:
    facts = [*_render_facts(event.facts, ""), *_render_facts(event.optional, "may be absent")]
    return f"`{event.name}`", event.level, event.where, event.meaning, "; ".join(facts)


def _render_facts(facts: Mapping[str, str], note: str) -> Iterator[str]:
    for key, meaning in facts.items():
        explained = ": ".join(text for text in (note, meaning) if text)
        yield f"`{key}` ({explained})" if explained else f"`{key}`"


if __name__ == "__main__":
    sys.exit(update(PAGE, render({module.LOGGER: module.EVENTS for module in PACKAGES}), sys.argv[1:]))
