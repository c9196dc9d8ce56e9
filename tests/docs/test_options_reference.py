"""The reference page of the options has every name."""

from __future__ import annotations

from pathlib import Path

from kinesis_core.options import aliases_of
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

DOCS = Path(__file__).parents[2] / "docs"
TABLES = (SOURCE_OPTIONS, SINK_OPTIONS)


def test_page_names_everything() -> None:
    """Every accepted name is on the page."""
    page = (DOCS / "reference" / "options.md").read_text()
    names = [option.name for table in TABLES for option in table.options]
    names += [alias.name for table in TABLES for option in table.options for alias in aliases_of(option)]
    names += [name for table in TABLES for unsupported in table.unsupported for name in unsupported.names]
    names += [
        name
        for table in TABLES
        for ignored_options in table.ignored_options
        for name in ignored_options.names
    ]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_page_lists_each_hint_once() -> None:
    """Each name of Kafka is in one row, with the hints of both halves."""
    page = (DOCS / "reference" / "options.md").read_text()
    rows = page.partition("## Options of Spark's Kafka")[2].splitlines()
    named = [name for row in rows if row.startswith("| `") for name in row.split(" | ")[0][2:].split(", ")]
    wanted = {f"`{name}`" for table in TABLES for hint in table.hints for name in hint.names}
    assert sorted(named) == sorted(wanted)
    assert any(
        row.startswith("| `startingOffsets`") and row.endswith("an option of reading. |") for row in rows
    )
