"""Tables, notes, progress and questions. On a terminal they have colours and its width; in a pipe they are plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from attrs import define, field, frozen

from kinesis_cli.ending import CommandError
from kinesis_cli.output.figures import show_bytes, show_count

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.progress import Progress
    from rich.table import Table


_WIDTH_IN_PIPES = 1000
"""Nothing is wrapped or cut there: another program reads it."""
_PLAIN = ("dumb", "unknown")
"""Terminals without colours, as rich has them for tables. NO_COLOR takes only colours away, and tables stay bold and dim."""


def is_terminal() -> bool:
    """Return whether a person sees the standard output."""
    return sys.stdout.isatty()


def has_colours() -> bool:
    """Return whether the standard output is shown in colours. The environment's NO_COLOR and FORCE_COLOR decide first."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal() and os.environ.get("TERM") not in _PLAIN)


def note(text: str) -> None:
    """Write one line to the standard error. If that is full or gone, the work and the exit status stay what they are."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def show(*results: RenderableType) -> None:
    """Write *results* to the standard output."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if console.is_terminal:
        for result in results:
            console.print(result, crop=False)  # a line to copy may be longer than the terminal is wide
        return
    console = Console(highlight=False, width=_WIDTH_IN_PIPES, color_system=None)
    with console.capture() as captured:
        for result in results:
            console.print(result)
    lines = (line.rstrip() for line in captured.get().splitlines())
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def new_table(*headings: str, right: Collection[str] = (), wrapped: Collection[str] = ()) -> Table:
    """Return an empty table. Columns in *right* are aligned there, and only those in *wrapped* break between words."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(heading, justify=justify, no_wrap=heading not in wrapped)
    return table


def show_json(value: Any) -> None:
    """Write *value* to the standard output as one line of JSON."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask *question* on the terminal, and return if the answer is yes. With *yes*, the option --yes, nothing is asked.

    Raises:
        CommandError: The answer is no, or there is no terminal to ask on.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            f"{question} There is no terminal to ask on: add --yes if you mean it. Nothing was changed."
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was changed.")


_ANY_WIDTH = 10_000


@frozen
class WholeLine:
    """One line, however long it is."""

    text: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        yield Segment(self.text, console.get_style(self.style))
        yield Segment.line()


@frozen
class WholeTable:
    """
    A table whose words are never cut.

    Cells are wrapped between words, unless their column forbids it. On a terminal that is still too narrow the lines are
    longer than the terminal is wide.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        wide = options.update(max_width=_ANY_WIDTH)
        for column in self.table.columns:
            measured = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
            column.min_width = max(each.maximum if column.no_wrap else each.minimum for each in measured)
        narrowest = Measurement.get(console, wide, self.table).minimum
        yield from console.render(self.table, options.update(max_width=max(options.max_width, narrowest)))


_PERIOD_HZ = 4


@define
class ProgressLine:
    """One line on the standard error, which is gone at the end. A context manager."""

    total_bytes: int | None = None
    is_wanted: bool = True
    _stack: ExitStack = field(factory=ExitStack, init=False)
    _progress: Progress | None = field(default=None, init=False)

    def __enter__(self) -> ProgressLine:
        if self.is_wanted and sys.stderr.isatty():
            self._progress = self._stack.enter_context(_make(self.total_bytes))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the terminal is gone
            self._stack.close()

    def show(self, records: int, size_bytes: int) -> None:
        """Show these numbers. It may be called often: the terminal is written to a few times a second."""
        if self._progress is None:
            return
        task = self._progress.tasks[0]
        rate = records / task.elapsed if task.elapsed else 0
        counts = (
            f"{show_count(records)} records, {show_bytes(size_bytes)}, {show_count(round(rate))} records/s"
        )
        self._progress.update(task.id, completed=size_bytes, description=counts)


def _make(total_bytes: int | None) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = (BarColumn(),) if total_bytes else ()
    progress = Progress(
        TextColumn("{task.description}"),
        *bar,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=_PERIOD_HZ,
    )
    progress.add_task("0 records", total=total_bytes)
    return progress
