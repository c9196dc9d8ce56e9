"""Shows on a terminal how far a command is. In a pipe it shows nothing."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from attrs import define, field

from kinesis_cli.output.figures import show_bytes, show_count

if TYPE_CHECKING:
    from rich.progress import Progress

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
