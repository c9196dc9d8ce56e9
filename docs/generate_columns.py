"""Write the tables of columns in docs/reference/columns.md: `python -m docs.generate_columns [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from docs.sections import render_rows, update
from kinesis_core.reading import COLUMNS, DEFAULT_COLUMNS, Column

PAGE = Path(__file__).parent / "reference" / "columns.md"


def _render(columns: Iterable[Column]) -> list[str]:
    rows = (
        (f"`{column.name}`", column.kind.value, "may be null" if column.nullable else "never", column.meaning)
        for column in columns
    )
    return render_rows(("column", "type", "null", "meaning"), rows)


if __name__ == "__main__":
    more = [column for column in COLUMNS.values() if column not in DEFAULT_COLUMNS]
    sys.exit(update(PAGE, {"default": _render(DEFAULT_COLUMNS), "more": _render(more)}, sys.argv[1:]))
