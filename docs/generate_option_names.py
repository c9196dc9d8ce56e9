"""
Write the names of the source's options into the sink, and the names of the sink's options into the source.

    python -m docs.generate_option_names           writes both modules
    python -m docs.generate_option_names --check   shows which module differs from the declarations, and exits with 1

Each half ignores the other half's options, so that one configuration serves both. Neither can import the other's
declarations, because each can be installed alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kinesis_core.options import COMMON_OPTIONS, COMMON_UNSUPPORTED, OptionTable
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

PACKAGES = Path(__file__).parents[1] / "packages"
TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
OTHER = {"source": "sink", "sink": "source"}


def module_path(half: str) -> Path:
    """Return the module with the names of *half*. The other half has it."""
    package = f"spark-kinesis-{OTHER[half]}"
    return PACKAGES / package / "src" / package.replace("-", "_") / "options" / f"{half}_names.py"


def list_names(half: str) -> list[str]:
    """
    Return all names that *half* understands, without those that both halves have and those of the other half.

    Of names that differ only in case or in the prefix `kinesis.`, only the first is returned: each of them finds the option.
    """
    names: dict[str, str] = {}
    for name in _iterate_names(TABLES[half], OTHER[half]):
        names.setdefault(name.lower().removeprefix("kinesis."), name)
    return list(names.values())


def _iterate_names(table: OptionTable, other: str) -> Iterator[str]:
    for option in table.options:
        if option not in COMMON_OPTIONS:
            yield option.name
            yield from (alias.name for alias in option.aliases)
    for unsupported in table.unsupported:
        if unsupported not in COMMON_UNSUPPORTED:
            yield from unsupported.names
    own = [entry for entry in table.ignored_options if entry.reason != f"it is an option of the {other}"]
    if len(own) != len(table.ignored_options) - 1:
        raise AssertionError(f"one entry of the ignored options must have the names of the {other}")
    for entry in own:
        yield from entry.names


def render(half: str) -> str:
    """Return the module with the names of *half*."""
    names = "".join(f'    "{name}",\n' for name in list_names(half))
    return (
        f'"""Names of the {half}\'s options. Written by docs/generate_option_names.py from their declarations."""\n\n'
        f"{half.upper()}_NAMES = (\n{names})\n"
    )


def main(arguments: list[str]) -> int:
    """Write both modules, or, for --check, show which of them differ. Returns the exit status."""
    stale = [half for half in TABLES if module_path(half).read_text(encoding="utf-8") != render(half)]
    for half in stale:
        if arguments == ["--check"]:
            sys.stdout.write(
                f"{module_path(half).relative_to(PACKAGES.parent)} differs from the declarations. "
                "Run: python -m docs.generate_option_names\n"
            )
        else:
            module_path(half).write_text(render(half), encoding="utf-8")
    return int(arguments == ["--check"] and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
