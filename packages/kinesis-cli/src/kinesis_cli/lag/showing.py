"""Shows the lag of readers: once, refreshed in place on a terminal, or block after block in a pipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kinesis_cli.ending import CommandError, Status
from kinesis_cli.lag.repeating import Failed, Measure, ProblemNotes, measurements, problems_of
from kinesis_cli.lag.results import ReaderLag, ShardLag, StreamLag
from kinesis_cli.lag.tables import reader_table, remarks, shard_table
from kinesis_cli.output import WholeTable, end_with_reader, is_terminal, note, show, show_json, show_time

if TYPE_CHECKING:
    from rich.console import RenderableType


def show_lag(lag: StreamLag, *, as_json: bool, show_all: bool) -> Status:
    """
    Write *lag* to the standard output. Return INCOMPLETE if the position of some reader is not known.

    Raises:
        CommandError: That of no reader is known.
    """
    problems = problems_of(lag)
    if len(problems) == len(lag.readers):
        raise CommandError(" ".join(problems))
    _write(lag, as_json=as_json, show_all=show_all)
    for problem in problems:
        note(problem)
    return Status.INCOMPLETE if problems else Status.DONE


def watch_lag(measure: Measure, period_s: float, *, as_json: bool, show_all: bool) -> None:
    """
    Show what *measure* returns, every *period_s* seconds, until the command is ended.

    After the first measurement, one that fails is shown as a problem, and the next one follows.

    Raises:
        KinesisError: The first measurement failed: the name of the stream may be wrong.
    """
    found = measurements(measure, period_s, must_begin=True)
    if as_json or not is_terminal():
        end_with_reader()
        _watch_in_pipe(found, as_json=as_json, show_all=show_all)
    else:
        _watch_on_terminal(found, period_s, show_all=show_all)


def _watch_in_pipe(found: Iterable[StreamLag | Failed], *, as_json: bool, show_all: bool) -> None:
    notes = ProblemNotes()
    for lag in found:
        if isinstance(lag, StreamLag):
            if not as_json:
                show(f"{show_time(lag.measured_ms)} {lag.stream}")
            _write(lag, as_json=as_json, show_all=show_all)
            if not as_json:
                show("")
        notes.write(problems_of(lag))


def _watch_on_terminal(found: Iterable[StreamLag | Failed], period_s: float, *, show_all: bool) -> None:
    """Refresh the tables in place. A measurement that fails leaves the last ones there, below the reason."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    last: list[RenderableType] = []
    with Live(auto_refresh=False) as live:
        for lag in found:
            problems = [Text(problem) for problem in problems_of(lag)]
            if isinstance(lag, Failed):
                live.update(Group(*problems, "", *last), refresh=True)  # a high table has its end cut off
                continue
            heading = f"{lag.stream} at {show_time(lag.measured_ms)}, every {period_s:g} s. Ctrl-C ends it."
            last = [heading, *draw_lag(lag, show_all=show_all), *problems]
            live.update(Group(*last), refresh=True)


def _write(lag: StreamLag, *, as_json: bool, show_all: bool) -> None:
    if as_json:
        show_json(to_document(lag))
    else:
        show(*draw_lag(lag, show_all=show_all))


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


def to_document(lag: StreamLag) -> dict[str, Any]:
    """Return *lag* for JSON. Finished shards are in it too."""
    return {
        "stream": lag.stream,
        "streamArn": lag.arn,
        "measuredAt": show_time(lag.measured_ms),
        "retentionMs": lag.retention_ms,
        "readers": [_reader(reader) for reader in lag.readers],
    }


def _reader(reader: ReaderLag) -> dict[str, Any]:
    return {
        "reader": reader.reader,
        "kind": reader.kind or None,
        "lagMs": reader.lag_ms,
        "shardsBehind": reader.behind,
        "shardsExpiring": reader.expiring,
        "shardsLost": reader.lost,
        "committedBatch": reader.batch,
        "plannedBatch": reader.planned,
        "committedAt": None if reader.committed_ms is None else show_time(reader.committed_ms),
        "problem": reader.problem,
        "notes": list(reader.notes),
        "shards": [_shard(shard) for shard in reader.shards],
    }


def _shard(shard: ShardLag) -> dict[str, Any]:
    return {
        "shardId": shard.shard_id,
        "state": shard.state.value,
        "lagMs": shard.lag_ms,
        "position": shard.position,
        "owner": shard.owner,
        "note": shard.note or None,
    }
