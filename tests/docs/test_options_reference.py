"""The reference page of the options has every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


def test_each_option_has_a_section() -> None:
    """It says what the option means, accepts and does by default, and which half has it. The list above its group links to it."""
    groups = (DOCS / "reference" / "options.md").read_text().split("\n## ")
    for option in dict.fromkeys(option for table in TABLES for option in table.options):
        (group,) = [group for group in groups if group.startswith(f"{option.group}\n")]
        links, *sections = group.split("\n### ")
        assert f"[`{option.name}`](#{option.name.lower()})" in links
        (section,) = [section for section in sections if section.startswith(f"`{option.name}`\n")]
        halves = [
            half for half, table in zip(("source", "sink"), TABLES, strict=True) if option in table.options
        ]
        assert (
            f"\n\n{option.meaning}\n\n* Accepts: {option.parser.domain}\n* Default: {option.shown_default}\n"
            in section
        )
        assert f"\n* For: {' and '.join(halves)}\n" in section


@pytest.mark.parametrize("page", ["reference/errors.md", "reference/events.md", "howto/read-an-error.md"])
def test_options_that_errors_and_events_name_are_links(page: str) -> None:
    """A page that says what happened leads to each option that it names. The anchor is checked with all others."""
    names = "|".join(option.name for table in TABLES for option in table.options)
    text = re.sub(r"^```.*?^```$", "", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    named = re.findall(rf"(\[?)`({names})(?:=[^`]*)?`(?:\]\([./\w]*options\.md#(\w+)\))?", text)
    assert named
    assert [name for link, name, anchor in named if (link, anchor) != ("[", name.lower())] == []


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
