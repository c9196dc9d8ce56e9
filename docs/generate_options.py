"""Write the options in docs/reference/options.md: `python -m docs.generate_options [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.sections import render_rows, update
from kinesis_core.options import Option, OptionTable, Origin, Unsupported, aliases_of
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

PAGE = Path(__file__).parent / "reference" / "options.md"
TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}


def sections(tables: Mapping[str, OptionTable]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the sections of the page for *tables*, by half of the connector."""
    yield "options", _render_groups(tables)
    unsupported = dict.fromkeys(entry for table in tables.values() for entry in table.unsupported)
    yield "unsupported", render_rows(("option", "feature", "instead"), _list_unsupported(unsupported))
    for half, table in tables.items():
        rows = ((_code(ignored.names), ignored.reason) for ignored in table.ignored_options)
        yield f"ignored_by_{half}", render_rows(("option", "reason"), rows)
    header = ("Kafka's option", *(f"here in the {half}" for half in tables))
    yield "hints", render_rows(header, _list_hints(tables.values()))


def _render_groups(tables: Mapping[str, OptionTable]) -> Iterator[str]:
    every = list(dict.fromkeys(option for table in tables.values() for option in table.options))
    for group in dict.fromkeys(option.group for option in every):
        options = [option for option in every if option.group == group]
        names = ", ".join(f"[`{option.name}`](#{option.name.lower()})" for option in options)
        yield from (f"## {group}", "", names, "")
        for option in options:
            yield from (*_render_option(option, tables), "")


def _render_option(option: Option[Any], tables: Mapping[str, OptionTable]) -> Iterator[str]:
    """Yield a heading, which is an anchor for links, the meaning, and a list: it is readable on a narrow screen."""
    yield from (f"### `{option.name}`", "", option.meaning, "")
    yield f"* Accepts: {option.parser.domain}"
    yield f"* Default: {option.shown_default}"
    yield f"* For: {_halves(option, tables)}"
    for origin in Origin:
        if names := _list_aliases(option, origin):
            yield f"* Name in {origin.value}: {names}"


def _halves(option: Option[Any], tables: Mapping[str, OptionTable]) -> str:
    return " and ".join(half for half, table in tables.items() if option in table.options)


def _list_aliases(option: Option[Any], origin: Origin) -> str:
    found = [
        f"`{alias.name}`" + (f" ({alias.parser.domain})" if alias.parser else "")
        for alias in aliases_of(option)
        if alias.origin is origin
    ]
    return ", ".join(found)


def _list_unsupported(entries: Iterable[Unsupported]) -> Iterator[tuple[str, ...]]:
    for unsupported in entries:
        names = _code(unsupported.names)
        if unsupported.accepted:
            names += f" (except {_code(unsupported.accepted)})"
        yield names, unsupported.feature, unsupported.instead


def _list_hints(tables: Collection[OptionTable]) -> Iterator[tuple[str, ...]]:
    """Yield the names that have the same hints, and the hint of each table for them."""
    by_name = [
        {name: hint.instead for hint in reversed(table.hints) for name in hint.names} for table in tables
    ]
    names: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys(name for table in tables for hint in table.hints for name in hint.names):
        names.setdefault(tuple(hints.get(name, "-") for hints in by_name), []).append(name)
    for (first, *others), same in names.items():
        yield _code(same), first, *("the same" if other == first else other for other in others)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.exit(update(PAGE, dict(sections(TABLES)), sys.argv[1:]))
