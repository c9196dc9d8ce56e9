"""The reference page of the events is what the declarations say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs.generate_events import COMMON, PACKAGES, Event

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "events.md"
EVENTS = [(module.LOGGER, event) for module in PACKAGES for event in module.EVENTS]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docs.generate_events", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def sections() -> dict[str, str]:
    """Return the parts of the page by their titles."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def test_page_is_current() -> None:
    """The page in the repository is the one that its generator writes."""
    checked = run(ROOT, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_stale_page(tmp_path: Path) -> None:
    """A page that differs is shown as a difference, and is an error. The generator writes it again."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "reference" / "events.md"
    page.write_text(page.read_text().replace("| `data.lost` | WARNING |", "| `data.lost` | INFO |"))
    checked = run(tmp_path, "--check")
    assert checked.returncode == 1
    assert "-| `data.lost` | INFO |" in checked.stdout
    assert run(tmp_path).returncode == 0
    assert page.read_text() == PAGE.read_text()


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
