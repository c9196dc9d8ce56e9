"""Pictures of the documentation: described in words, and complete in one file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DRAWN = sorted((DOCS / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
SHOWN = [
    (page.relative_to(ROOT).as_posix(), alt, target)
    for page in sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
    for alt, target in re.findall(r"!\[([^]]*)\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("path", DRAWN, ids=[path.stem for path in DRAWN])
def test_drawing_stands_alone(path: Path) -> None:
    """A drawing has a title, a description and its labels as text, and loads nothing."""
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)  # noqa: S314 # our own file
    labels = [root.find(f"{SVG}title"), root.find(f"{SVG}desc"), root.find(f".//{SVG}text")]
    assert all(label is not None and label.text for label in labels)
    assert re.findall(r"https?://[^\"']+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"""href=["'](?!#)|url\(\s*["']?(?!#)|@import|@font-face""", text)


def test_every_drawing_is_shown() -> None:
    """Each drawing is on a page, or in the README."""
    assert {path.name for path in DRAWN} <= {Path(target).name for _, _, target in SHOWN}


@pytest.mark.parametrize(("page", "alt", "target"), SHOWN)
def test_picture_has_a_text(page: str, alt: str, target: str) -> None:
    """A picture on a page has a text for readers who do not see it, and is a file of the docs."""
    assert len(alt.split()) >= 3
    assert (ROOT / page).parent.joinpath(target).resolve().is_relative_to(DOCS)
