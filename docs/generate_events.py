"""Write the tables of events in docs/reference/events.md: `python -m docs.generate_events [--check]`."""

from __future__ import annotations

import re
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
from docs.sections import render_rows, update
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

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
    "reason": "why: a sentence, or an error without the advice that it has where it is raised",
    "consumer": "the consumer's name or ARN",
    "table": "the name of the lease table",
}
"""The facts that events share."""
OPTIONS = "|".join(option.name for table in (SOURCE_OPTIONS, SINK_OPTIONS) for option in table.options)


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


def _render_facts_of_all() -> list[str]:
    return render_rows(("fact", "meaning"), ((f"`{key}`", meaning) for key, meaning in COMMON.items()))


def _render(packages: Mapping[str, Iterable[Event]]) -> Iterator[str]:
    for logger, events in packages.items():
        yield from ("", f"## {logger}", "")
        yield from render_rows(("event", "level", "where", "meaning", "facts"), map(_row, events))
        yield from ("", *(f"    {event.example}" for event in events))


def _row(event: Event) -> tuple[str, ...]:
    facts = [*_render_facts(event.facts, ""), *_render_facts(event.optional, "may be absent")]
    return (
        f"`{event.name}`",
        event.level,
        event.where,
        _link_options(event.meaning),
        _link_options("; ".join(facts)),
    )


def _link_options(text: str) -> str:
    return re.sub(
        rf"`({OPTIONS})(=[^`]*)?`", lambda named: f"[{named[0]}](options.md#{named[1].lower()})", text
    )


def _render_facts(facts: Mapping[str, str], note: str) -> Iterator[str]:
    for key, meaning in facts.items():
        explained = ": ".join(text for text in (note, meaning) if text)
        yield f"`{key}` ({explained})" if explained else f"`{key}`"


if __name__ == "__main__":
    events = _render({module.LOGGER: module.EVENTS for module in PACKAGES})
    sys.exit(update(PAGE, {"facts": _render_facts_of_all(), "events": events}, sys.argv[1:]))
