"""
Write docs/reference/options.md from the declarations of the options.

    python docs/generate_options.py           writes the page
    python docs/generate_options.py --check   shows how the page differs from the declarations, and exits with 1
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from kinesis_core.options import Option, OptionTable, Origin, Unsupported
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

PAGE = Path(__file__).parent / "reference" / "options.md"
TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
INTRODUCTION = """\
# Options of source and sink

<!-- Made by docs/generate_options.py from the declarations of the options. Change those, and run it again. -->

Set them with `.option(name, value)` on `spark.readStream`, `spark.read`, `df.writeStream` or `df.write` with
`.format("kinesis")`. Names are case-blind, and each may have the prefix `kinesis.`. The names that the awslabs, qubole
and Databricks connectors have work as well. An unknown name, a value outside its domain, or two names of one option with
different values stop the query before any call to AWS. An option given as `None` counts as not given.
"""


def render(tables: Mapping[str, OptionTable]) -> str:
    """Return the page for *tables*, by what each is of."""
    lines = [INTRODUCTION]
    every = list(dict.fromkeys(option for table in tables.values() for option in table.options))
    for group in dict.fromkeys(option.group for option in every):
        options = [option for option in every if option.group == group]
        lines += [f"## {group}", "", *_render_options(options), "", *_render_aliases(options)]
    lines += ["## Not supported yet", "", "Setting one of these is refused, unless it asks for nothing:", ""]
    unsupported = dict.fromkeys(entry for table in tables.values() for entry in table.unsupported)
    lines += render_rows(("name", "asks for", "meanwhile"), _list_unsupported(unsupported))
    for half, table in tables.items():
        lines += ["", f"## Accepted by the {half}, and not needed", "", "One line in the log says why:", ""]
        lines += render_rows(("name", "why"), ((_code(u.names), u.reason) for u in table.ignored_options))
    return "\n".join(lines) + "\n"


def _render_options(options: Iterable[Option[Any]]) -> list[str]:
    rows = (
        (f"`{option.name}`", option.meaning, option.parser.domain, option.default_text, option.scope.value)
        for option in options
    )
    return render_rows(("option", "meaning", "accepts", "default", "of"), rows)


def _render_aliases(options: Iterable[Option[Any]]) -> list[str]:
    rows = [(f"`{o.name}`", *(_list_aliases(o, origin) for origin in Origin)) for o in options if o.aliases]
    return [*render_rows(("option", *(origin.value for origin in Origin)), rows), ""] if rows else []


def _list_aliases(option: Option[Any], origin: Origin) -> str:
    found = [
        f"`{alias.name}`" + (f" ({alias.parser.domain})" if alias.parser else "")
        for alias in option.aliases
        if alias.origin is origin
    ]
    return ", ".join(found) or "-"


def _list_unsupported(entries: Iterable[Unsupported]) -> Iterator[tuple[str, ...]]:
    for unsupported in entries:
        names = _code(unsupported.names)
        if unsupported.accepted:
            names += f" (but {_code(unsupported.accepted)})"
        yield names, unsupported.feature, unsupported.instead


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def render_rows(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    table = [header, tuple("---" for _ in header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]


def update(path: Path, page: str, arguments: list[str]) -> int:
    """Write *page*, or, for --check, show how what is written differs from it; return the exit status."""
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
