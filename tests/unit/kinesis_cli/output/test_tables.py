"""Tables of commands."""

from __future__ import annotations

import io

from rich.console import Console

from kinesis_cli.output import WholeTable, new_table


def test_a_narrow_terminal() -> None:
    """Words are never cut. Cells break between words in the columns that may, and in no others."""
    table = new_table("LAG", "STATE", right={"LAG"}, wrapped={"STATE"})
    table.add_row("1 min 5 s", "not watched")
    console = Console(file=io.StringIO(), width=5)
    console.print(WholeTable(table), crop=False)
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "      LAG  STATE  ",
        "1 min 5 s  not    ",
        "           watched",
    ]
