"""
Marked sections of a page: programs write the text between two markers, and people write the rest.

    <!-- soak -->
    the text that `write_section(page, "soak", text)` replaces
    <!-- /soak -->
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from pathlib import Path


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the section *name* of the page at *path* by *text*."""
    path.write_text(replace_section(path.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def update(path: Path, sections: Mapping[str, Iterable[str]], arguments: list[str]) -> int:
    """Write *sections*, each as lines; or, with --check, print how the page differs from them. Return the exit status."""
    written = page = path.read_text(encoding="utf-8")
    for name, lines in sections.items():
        page = replace_section(page, name, "\n".join(lines))
    if arguments != ["--check"]:
        path.write_text(page, encoding="utf-8")
        return 0
    before, after = written.splitlines(keepends=True), page.splitlines(keepends=True)
    sys.stdout.writelines(unified_diff(before, after, f"docs/reference/{path.name}", "declarations"))
    return int(written != page)


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


def render_rows(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a Markdown table, line by line."""
    table = [header, tuple("---" for _ in header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]
