"""Programs write the marked sections of pages, and change nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.sections import replace_section, write_section

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = [
    f"reference/{name}.md"
    for name in ("columns", "commands", "errors", "events", "faithful", "iam", "options")
]
PAGES = {
    name: (DOCS / name).read_text(encoding="utf-8")
    for name in ("benchmarks.md", "reliability.md", "howto/ten-thousand-shards.md", *REFERENCE)
}
SECTIONS = [
    (page, section) for page, text in PAGES.items() for section in re.findall(r"^<!-- (\w+) -->$", text, re.M)
]
PAGE = "# A page\n\n<!-- one -->\n<!-- /one -->\nbetween\n<!-- two -->\n\nold\n\n<!-- /two -->\nthe end\n"


def test_section_is_replaced() -> None:
    """The text between the markers is replaced, and everything else is unchanged."""
    once = replace_section(PAGE, "two", "new\n")
    assert once == PAGE.replace("old", "new")
    assert replace_section(once, "one", "| a |") == once.replace(
        "<!-- one -->\n<!--", "<!-- one -->\n\n| a |\n\n<!--"
    )


def test_writing_twice_is_writing_once(tmp_path: Path) -> None:
    """A section that is written twice has only the last text."""
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    write_section(path, "one", "first\n\nrun")
    write_section(path, "one", "second run")
    assert path.read_text() == replace_section(PAGE, "one", "second run")


@pytest.mark.parametrize("page", ["", "<!-- one -->\n", "<!-- /one -->\n<!-- one -->\n", PAGE + PAGE])
def test_markers_must_be_there_once(page: str) -> None:
    """A page without the pair of markers, or with two pairs, is refused: a text would be lost or repeated."""
    with pytest.raises(ValueError, match="needs one section '<!-- one -->' to '<!-- /one -->'"):
        replace_section(page, "one", "text")


@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_no_section_is_empty(page: str, section: str) -> None:
    """Every section has content."""
    held = PAGES[page].partition(f"<!-- {section} -->\n")[2].partition(f"<!-- /{section} -->\n")[0]
    assert held.strip()


def test_sections_are_found() -> None:
    """Each page has sections, and each section has a start and an end marker."""
    for page, text in PAGES.items():
        ended = re.findall(r"^<!-- /(\w+) -->$", text, re.M)
        assert [(page, section) for section in ended] == [found for found in SECTIONS if found[0] == page]
        assert ended
