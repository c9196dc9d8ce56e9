"""The reference page of the events is what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generate_events import COMMON, PACKAGES, Event

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "events.md"
EVENTS = [(module.LOGGER, event) for module in PACKAGES for event in module.EVENTS]


def sections() -> dict[str, str]:
    """Return the parts of the page by their titles."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize(("logger", "event"), EVENTS, ids=lambda part: getattr(part, "name", part))
def test_events(logger: str, event: Event) -> None:
    """Each event is a row under its logger, with its level, every fact, and an example."""
    text = sections()[logger]
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{event.name}` | {event.level} |")]
    assert all(f"`{key}`" in row for key in (*event.facts, *event.optional))
    assert f"\n    {event.example}\n" in text


def test_every_fact_is_explained() -> None:
    """A fact without a meaning of its own is one that the page explains for all events, and each of those is needed."""
    unexplained = {
        key
        for _, event in EVENTS
        for key, meaning in (*event.facts.items(), *event.optional.items())
        if not meaning
    }
    assert unexplained == set(COMMON)
