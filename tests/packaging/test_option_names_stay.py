"""The names in users' jobs stay: each name of an option that was ever released is still accepted, for the same option."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinesis_core.options import COMMON_OPTIONS, OptionTable, aliases_of
from kinesis_core.options.foreign.names import CONNECTORS, SINK_NAMES, SOURCE_NAMES
from kinesis_core.options.option import normalise
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

GOLDEN = Path(__file__).parents[1] / "golden" / "options"
TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
OTHER = {"source": "sink", "sink": "source"}


def names_of(half: str) -> dict[str, str]:
    """
    Return every name that *half* accepts, as it is looked up, with the option that it sets or "ignored".

    The names of the other half's options are left out: its own file has them.
    """
    table: OptionTable = TABLES[half]
    ignored = [
        entry for entry in table.ignored_options if entry.reason != f"it is an option of the {OTHER[half]}"
    ]
    names = {normalise(name): "ignored" for entry in ignored for name in entry.names}
    for option in table.options:
        names |= {
            normalise(name): option.name
            for name in (option.name, *(alias.name for alias in aliases_of(option)))
        }
    return dict(sorted(names.items()))


def text_of(names: dict[str, str]) -> str:
    return json.dumps(names, indent=1) + "\n"


@pytest.mark.parametrize("half", TABLES)
def test_no_name_is_lost(half: str) -> None:
    """A name in the golden file sets the option that it has always set. A new name has a line in the file."""
    golden = json.loads((GOLDEN / f"{half}.json").read_text())
    now = names_of(half)
    assert {name: now.get(name) for name in golden} == golden
    assert text_of(now) == (GOLDEN / f"{half}.json").read_text(), "add the new names to the golden file"


@pytest.mark.parametrize(("half", "names"), [("source", SOURCE_NAMES), ("sink", SINK_NAMES)])
def test_names_that_the_other_half_ignores(half: str, names: tuple[str, ...]) -> None:
    """Each option that one half has alone is known to the other half, which ignores it, in the order of the declarations."""
    common = {option.name for option in COMMON_OPTIONS}
    assert names == tuple(o.name for o in TABLES[half].options if o.name not in common)


def test_other_connectors_names_are_of_options() -> None:
    """Each name in the table of a connector belongs to a declared option."""
    declared = {option.name for table in TABLES.values() for option in table.options}
    assert {name for connector in CONNECTORS for name in connector.names} <= declared
