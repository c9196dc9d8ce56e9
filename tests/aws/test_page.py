"""The page of the kit has the steps, costs and permissions of the code."""

from __future__ import annotations

from docs.sections import update
from tools.aws.page import PAGE, sections


def test_the_page_is_current() -> None:
    """The generated sections are those that `python3 noxfile.py -s generate` writes."""
    assert update(PAGE, dict(sections()), ["--check"]) == 0
