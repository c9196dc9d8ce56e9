"""The end: both halves compared, shown, and judged."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from demo.ledger import Comparison, Copy, Ledger

NEXT = (
    ("Read how it works", "docs/concepts.md"),
    ("Write a query of your own", "docs/howto/first-query.md"),
    ("Write to a stream", "docs/howto/writing.md"),
    ("Test a job of your own", "docs/howto/local-testing.md"),
    ("Run the tests", "python3 noxfile.py -s tests"),
)
SHOWN = 10
"""So many of each kind of mistake."""


def show_counts(console: Console, ledger: Ledger) -> None:
    """Show what was put and what was counted, for each key."""
    table = Table(title="put against counted", title_justify="left")
    table.add_column("city")
    for heading in ("put", "counted", "windows", "that agree"):
        table.add_column(heading, justify="right")
    for city, windows, agreeing, put, counted in ledger.by_key():
        style = "" if windows == agreeing else "bold red"
        table.add_row(city, f"{put:,}", f"{counted:,}", str(windows), str(agreeing), style=style)
    console.print(table)
    for (city, start_s), put, counted in ledger.differences()[:SHOWN]:
        console.print(f"{city}, window {start_s}: {put} put, {counted} counted", style="red")


def show_copies(console: Console, put: int, found: Comparison, example: Copy | None) -> None:
    """Show what was put and what the second stream has, with an example."""
    table = Table(title="put against read back from the second stream", title_justify="left")
    for heading in ("put", "read back as put", "missing", "different", "there again"):
        table.add_column(heading, justify="right")
    numbers = (put, found.distinct, len(found.missing), len(found.strange), found.repeated)
    table.add_row(*(f"{number:,}" for number in numbers))
    console.print(table)
    for what, copies in (("missing", found.missing), ("different", found.strange)):
        for key, data in copies[:SHOWN]:
            console.print(f"{what}: {key} {data}", style="red", highlight=False, markup=False)
    if example:
        console.print(f"such as {example[1]}", style="dim", highlight=False, markup=False)


def judge_counts(console: Console, ledger: Ledger, changes: int) -> bool:
    """Say whether every record was counted exactly once."""
    wrong = len(ledger.differences())
    if wrong or not ledger.total_put:
        console.print(Panel(f"NOT exactly once: {wrong} counts differ.", style="bold red"))
        return False
    proof = (
        f"[bold green]All {ledger.total_put:,} records were counted exactly once[/], in {ledger.batches} batches, "
        f"across {changes} splits and merges and a restart."
    )
    console.print(Panel(proof, title="stream to Spark", title_align="left", style="green"))
    return True


def judge_copies(console: Console, put: int, found: Comparison) -> bool:
    """Say whether every record is in the second stream, and nothing else."""
    if found.missing or found.strange or not put:
        missing, strange = len(found.missing), len(found.strange)
        console.print(Panel(f"NOT all there: {missing} missing, {strange} different.", style="bold red"))
        return False
    again = (
        f"{found.repeated:,} are there once more than that: what is on the way when a query stops, or a shard of the "
        "second stream splits, is written again. Nothing is dropped."
        if found.repeated
        else "None is there twice."
    )
    proof = (
        f"[bold green]All {put:,} records are in the second stream at least once[/], with the sequence number that "
        f"each has in the first. {again}"
    )
    console.print(Panel(proof, title="Spark to stream", title_align="left", style="green"))
    return True


def show_next(console: Console) -> None:
    """Say what to try now."""
    table = Table.grid(padding=(0, 3))
    for what, where in NEXT:
        table.add_row(what, f"[bold]{where}[/]")
    console.print(Panel(table, title="what to try next", title_align="left"))
