"""
Marked sections of a page: programs write the text between two markers, and people write the rest.

    <!-- soak -->
    the text that `write_section(page, "soak", text)` replaces
    <!-- /soak -->
"""

from __future__ import annotations

from pathlib import Path


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the section *name* of the page at *path* by *text*."""
    path.write_text(replace_section(path.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def replace_section(page: str, name: str, text: str) -> str:
    """
    Return *page* with *text* in its section *name*, between blank lines.

    Raises:
        ValueError: The page has no such section, or more than one.
    """
    begins, ends = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, _, rest = page.partition(begins)
    held, _, after = rest.partition(ends)
    if page != before + begins + held + ends + after or begins in held + after:
        raise ValueError(f"The page needs one section '{begins.strip()}' to '{ends.strip()}'.")
    return f"{before}{begins}\n{text.strip()}\n\n{ends}{after}"
