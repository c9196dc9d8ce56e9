"""
Write docs/reference/options.md from the declarations of the options.

    python docs/generate_options.py           writes the page
    python docs/generate_options.py --check   prints how the page differs from the declarations, and exits with 1 if it does
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from kinesis_core.options import Option, OptionTable, Origin, Unsupported, aliases_of
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

PAGE = Path(__file__).parent / "reference" / "options.md"
TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
INTRODUCTION = """\
# Options of source and sink

<!-- Written by docs/generate_options.py from the declarations of the options. Change those, and run it again. -->

Set options with `.option(name, value)` on `spark.readStream`, `spark.read`, `df.writeStream` or `df.write`, after
`.format("kinesis")`.

* Names are not case-sensitive. Each name may have the prefix `kinesis.`.
* The option names of the awslabs, qubole and Databricks connectors also work, in the units of those connectors. Each section
  lists them in its second table.
* The query fails before any call to AWS if a name is unknown, if a value is not accepted, or if two names of one option have
  different values.
* On Spark 4.3 an option with the value `None` counts as not set. Earlier versions of Spark fail on it with an internal error.
* A duration is a number and a unit: `200 ms`, `10 s`, `5 m` (minutes), `2 h` or `1 d`. The column *accepts* names the unit of a
  number without one.
* A size is a number of bytes, or a number and a unit: `64k`, `64m`, `20gb`. Units of sizes are powers of 1024.
* The column *for* says whether the source, the sink or both have the option. The other half accepts and ignores it.
"""
UNSUPPORTED = """\
## Not supported

The query fails if one of these options is set.
"""
IGNORED = """\
## Accepted by the {half}, without effect

These options do not fail the query. The log has one line for each of them, the event `option.ignored`.
"""
HINTS = """\
## Options of Spark's Kafka source and sink

These names are unknown here. The error says what to use instead. Other names of Kafka work as they are: `failOnDataLoss`,
`maxTriggerDelay`.
"""


def render(tables: Mapping[str, OptionTable]) -> str:
    """Return the page for *tables*, by half of the connector."""
    lines = [INTRODUCTION]
    every = list(dict.fromkeys(option for table in tables.values() for option in table.options))
    for group in dict.fromkeys(option.group for option in every):
        options = [option for option in every if option.group == group]
        lines += [f"## {group}", "", *_render_options(options, tables), "", *_render_aliases(options)]
    unsupported = dict.fromkeys(entry for table in tables.values() for entry in table.unsupported)
    lines += [UNSUPPORTED, *render_rows(("option", "feature", "instead"), _list_unsupported(unsupported))]
    for half, table in tables.items():
        rows = ((_code(ignored.names), ignored.reason) for ignored in table.ignored_options)
        lines += ["", IGNORED.format(half=half), *render_rows(("option", "reason"), rows)]
    header = ("Kafka's option", *(f"here in the {half}" for half in tables))
    lines += ["", HINTS, *render_rows(header, _list_hints(tables.values()))]
    return "\n".join(lines) + "\n"


def _render_options(options: Iterable[Option[Any]], tables: Mapping[str, OptionTable]) -> list[str]:
    rows = (
        (
            f"`{option.name}`",
            option.meaning,
            option.parser.domain,
            option.shown_default,
            _halves(option, tables),
        )
        for option in options
    )
    return render_rows(("option", "meaning", "accepts", "default", "for"), rows)


def _halves(option: Option[Any], tables: Mapping[str, OptionTable]) -> str:
    return " and ".join(half for half, table in tables.items() if option in table.options)


def _render_aliases(options: Iterable[Option[Any]]) -> list[str]:
    rows = [
        (f"`{o.name}`", *(_list_aliases(o, origin) for origin in Origin))
        for o in options
        if any(aliases_of(o))
    ]
    return [*render_rows(("option", *(origin.value for origin in Origin)), rows), ""] if rows else []


def _list_aliases(option: Option[Any], origin: Origin) -> str:
    found = [
        f"`{alias.name}`" + (f" ({alias.parser.domain})" if alias.parser else "")
        for alias in aliases_of(option)
        if alias.origin is origin
    ]
    return ", ".join(found) or "-"


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


def render_rows(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a Markdown table, line by line."""
    table = [header, tuple("---" for _ in header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]


def update(path: Path, page: str, arguments: list[str]) -> int:
    """Write *page*; or, with --check, print how the file differs from it. Return the exit status."""
    if arguments != ["--check"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        return 0
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = unified_diff(
        written.splitlines(keepends=True),
        page.splitlines(keepends=True),
        f"docs/reference/{path.name}",
        "declarations",
    )
    sys.stdout.writelines(difference)
    return int(written != page)


if __name__ == "__main__":
    sys.exit(update(PAGE, render(TABLES), sys.argv[1:]))
