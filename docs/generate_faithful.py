"""Write the tables of docs/reference/faithful.md from results of the conformance suite: `python -m docs.generate_faithful [--check]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from docs.sections import render_rows, update
from tools.conformance.results import Results, read_all
from tools.conformance.scenarios import HERE, Scenario, load

PAGE = Path(__file__).parent / "reference" / "faithful.md"
KNOWN: dict[str, str] = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))


def _servers(scenarios: Sequence[Scenario], results: Sequence[Results]) -> Iterator[str]:
    rows = [
        (f"`{one.server}`", one.version, one.measured, str(len(one.passed)), str(_in_words_only(one)))
        for one in results
    ]
    header = (
        "server",
        "version",
        "measured on",
        f"passed of {len(scenarios)}",
        "only the text of an error differs",
    )
    yield from render_rows(header, rows)


def _in_words_only(results: Results) -> int:
    """Return the number of scenarios in which an error has the right type and another text. The type is compared first."""
    return sum(one.startswith("the message is ") for one in results.differences.values())


def _by(
    what: str, key: Callable[[Scenario], str], scenarios: Sequence[Scenario], results: Sequence[Results]
) -> Iterator[str]:
    """Yield a table with a row for each group of *scenarios*, which *key* names."""
    groups: dict[str, set[str]] = {}
    for scenario in scenarios:
        groups.setdefault(key(scenario), set()).add(scenario.name)
    header = (what, "scenarios", *(f"`{one.server}`" for one in results))
    rows = [
        (group, str(len(names)), *(str(len(names & set(one.passed))) for one in results))
        for group, names in groups.items()
    ]
    yield from render_rows(header, rows)


def _differences(scenarios: Sequence[Scenario]) -> Iterator[str]:
    rows = [(one.fact, KNOWN[one.name], _links(one)) for one in scenarios if one.name in KNOWN]
    yield from render_rows(("AWS", "the emulator", "source"), rows)


def _links(scenario: Scenario) -> str:
    return ", ".join(f"[{number}]({url})" for number, url in enumerate(scenario.sources, 1))


def _operation(scenario: Scenario) -> str:
    return f"`{scenario.step.call}`"


if __name__ == "__main__":
    all_scenarios, measured = load(), read_all()
    calls = sorted(
        (one for one in all_scenarios if one.area != "Types of values, and the protocol"), key=_operation
    )
    sections = {
        "servers": _servers(all_scenarios, measured),
        "areas": _by("area", lambda one: one.area, all_scenarios, measured),
        "operations": _by("operation", _operation, calls, measured),
        "differences": _differences(all_scenarios),
    }
    sys.exit(update(PAGE, sections, sys.argv[1:]))
