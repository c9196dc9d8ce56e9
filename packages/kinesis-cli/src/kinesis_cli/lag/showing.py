"""Shows the lag of readers: once, refreshed in place on a terminal, or block after block in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kinesis_cli.ending import CommandError, Status
from kinesis_cli.lag.documents import to_document
from kinesis_cli.lag.results import StreamLag
from kinesis_cli.lag.tables import reader_table, remarks, shard_table
from kinesis_cli.output import WholeTable, end_with_reader, is_terminal, note, show, show_json, show_time

if TYPE_CHECKING:
    from rich.console import RenderableType

T = TypeVar("T")
Measure = Callable[[], StreamLag]


def show_lag(lag: StreamLag, *, as_json: bool, show_all: bool) -> Status:
    """
    Write *lag* to the standard output. Return INCOMPLETE if the position of some reader is not known.

    Raises:
        CommandError: That of no reader is known.
    """
    problems = _problems(lag)
    if len(problems) == len(lag.readers):
        raise CommandError(" ".join(problems))
    _write(lag, as_json=as_json, show_all=show_all)
    return Status.INCOMPLETE if problems else Status.DONE


def watch_lag(measure: Measure, period_s: float, *, as_json: bool, show_all: bool) -> None:
    """Show what *measure* returns, every *period_s* seconds, until the command is ended."""
    if as_json or not is_terminal():
        end_with_reader()

        def write(lag: StreamLag) -> None:
            if not as_json:
                show(f"{show_time(lag.measured_ms)} {lag.stream}")
            _write(lag, as_json=as_json, show_all=show_all)
            if not as_json:
                show("")

        repeat(measure, period_s, write)
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:

        def refresh(lag: StreamLag) -> None:
            heading = f"{lag.stream} at {show_time(lag.measured_ms)}, every {period_s:g} s. Ctrl-C ends it."
            problems = map(Text, _problems(lag))
            live.update(Group(heading, *draw_lag(lag, show_all=show_all), *problems), refresh=True)

        repeat(measure, period_s, refresh)


def repeat(measure: Callable[[], T], period_s: float, use: Callable[[T], None]) -> None:
    """Measure and use the result, every *period_s* seconds, until an exception."""
    while True:
        started_s = time.monotonic()
        use(measure())
        time.sleep(max(0.0, started_s + period_s - time.monotonic()))


def _write(lag: StreamLag, *, as_json: bool, show_all: bool) -> None:
    if as_json:
        show_json(to_document(lag))
    else:
        show(*draw_lag(lag, show_all=show_all))
    for problem in _problems(lag):
        note(problem)


def draw_lag(lag: StreamLag, *, show_all: bool) -> list[RenderableType]:
    """Return the tables and remarks. Words of users are a Text, so that nothing in them is markup."""
    from rich.text import Text

    shards, left_out = shard_table(lag, show_all=show_all)
    block: list[RenderableType] = [WholeTable(reader_table(lag))]
    if shards.row_count:
        block += ["", WholeTable(shards)]
    if left_out:
        block.append(f"... and {left_out} more shards; --all shows them.")
    lines = remarks(lag)
    return [*block, *([""] if lines else []), *(Text(line) for line in lines)]


def _problems(lag: StreamLag) -> list[str]:
    return [reader.problem for reader in lag.readers if reader.problem is not None]
