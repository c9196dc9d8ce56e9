"""Shows and judges the results of both queries."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from demo.counts import Comparison, Copy, Counts

NEXT = (
    ("Read how it works", "docs/concepts.md"),
    ("Write a query of your own", "docs/tutorial/set-up.md"),
    ("Write to a stream", "docs/howto/writing.md"),
    ("Look at a stream from the command line", "docs/cli/index.md"),
    ("Test a job of your own", "docs/howto/local-testing.md"),
    ("Run the tests", "python3 noxfile.py -s tests"),
)
SHOWN = 10
"""The maximum number of differences to show of each kind."""


def show_counts(console: Console, counts: Counts) -> None:
    """Show the records put and counted for each key."""
    table = Table(title="put against counted", title_justify="left")
    table.add_column("city")
    for heading in ("put", "counted", "windows", "that agree"):
        table.add_column(heading, justify="right")
    for city, windows, agreeing, put, counted in counts.by_key():
        style = "" if windows == agreeing else "bold red"
        table.add_row(city, f"{put:,}", f"{counted:,}", str(windows), str(agreeing), style=style)
    console.print(table)
    for (city, start_s), put, counted in counts.differences()[:SHOWN]:
        console.print(f"{city}, window {start_s}: {put} put, {counted} counted", style="red")


def show_copies(console: Console, put: int, found: Comparison, example: Copy | None) -> None:
    """Show the records put and those of the second stream, with an example."""
    table = Table(title="put against read back from the second stream", title_justify="left")
    for heading in ("put", "read back as put", "missing", "different", "repeated"):
        table.add_column(heading, justify="right")
    numbers = (put, found.distinct, len(found.missing), len(found.unexpected), found.repeated)
    table.add_row(*(f"{number:,}" for number in numbers))
    console.print(table)
    for what, copies in (("missing", found.missing), ("different", found.unexpected)):
        for key, data in copies[:SHOWN]:
            console.print(f"{what}: {key} {data}", style="red", highlight=False, markup=False)
    if example:
        console.print(f"such as {example[1]}", style="dim", highlight=False, markup=False)


def judge_counts(console: Console, counts: Counts, changes: int) -> bool:
    """Show and return whether every record was counted exactly once."""
    wrong = len(counts.differences())
    if wrong or not counts.total_put:
        console.print(Panel(f"NOT exactly once: {wrong} counts differ.", style="bold red"))
        return False
    proof = (
        f"[bold green]All {counts.total_put:,} records were counted exactly once[/], in {counts.batches} batches, "
        f"across {changes} splits and merges and a restart."
    )
    console.print(Panel(proof, title="stream to Spark", title_align="left", style="green"))
    return True


def judge_copies(console: Console, put: int, found: Comparison) -> bool:
    """Show and return whether the second stream has every record, and no others."""
    if found.missing or found.unexpected or not put:
        missing, unexpected = len(found.missing), len(found.unexpected)
        console.print(Panel(f"NOT complete: {missing} missing, {unexpected} different.", style="bold red"))
        return False
    again = (
        f"There are {found.repeated:,} repetitions: records in flight are written again when a query stops or a shard "
        "of the second stream splits. No record is dropped."
        if found.repeated
        else "No record is there twice."
    )
    proof = (
        f"[bold green]All {put:,} records are in the second stream at least once[/], each with its sequence number in "
        f"the first one. {again}"
    )
    console.print(Panel(proof, title="Spark to stream", title_align="left", style="green"))
    return True


def show_next(console: Console) -> None:
    """Show the next steps."""
    table = Table.grid(padding=(0, 3))
    for what, where in NEXT:
        table.add_row(what, f"[bold]{where}[/]")
    console.print(Panel(table, title="what to try next", title_align="left"))
