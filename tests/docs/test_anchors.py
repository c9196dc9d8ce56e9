"""Links within the documentation lead to a page, and to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md") for path in ROOT.glob(pattern)
)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = (heading.strip().lower() for heading in HEADING.findall(CODE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def test_anchors_are_githubs() -> None:
    """Punctuation is left out, spaces become hyphens, and lines of code are no headings."""
    page = "# Cuts\n\n## What's new: `read`, a_b & c\n\n```sh\n# a comment\n```\n"
    assert anchors(page) == {"cuts", "whats-new-read-a_b--c"}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    """Each link of a page within the repository has a file, and each anchor a heading."""
    wrong = []
    for target, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target:
            continue
        path = page.parent / target if target else page
        if not path.exists():
            wrong.append(target)
        elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
            wrong.append(f"{target}#{anchor}")
    assert not wrong
