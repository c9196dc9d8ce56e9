"""The lag of readers as text: a line for each reader, then a line for each shard and reader, the worst shards first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinesis_cli.lag.results import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.output import new_table, show_ago, show_duration, show_number, show_position

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

SHOWN = 20
"""Shards that are shown unless all are asked for."""
_STYLES = {
    State.EXPIRING: "bold yellow",
    State.EXPIRED: "bold red",
    State.DOUBTFUL: "bold red",
    State.GONE: "bold red",
    State.UNKNOWN: "yellow",
    State.CURRENT: "green",
    State.FINISHED: "dim",
}
_SEVERITY = [State.EXPIRED, State.GONE, State.DOUBTFUL]

LagRow = tuple[str, int, ShardLag]
"""A shard, the index of a reader, and its lag there."""


def reader_table(lag: StreamLag) -> Table:
    """Return the table of readers."""
    table = _table("reader", "kind", "lag", "behind", "progress")
    for reader in lag.readers:
        if reader.problem is None:
            count = f"{reader.behind} of {show_number(reader.unfinished, 'shard')}"
            _add(table, reader.reader, reader.kind, _worst(reader), count, _progress(reader, lag.measured_ms))
        else:
            _add(table, reader.reader, reader.kind or "-", "-", "-", "not known")
    return table


def shard_table(lag: StreamLag, *, show_all: bool) -> tuple[Table, int]:
    """Return the table of shards, and how many unfinished shards it leaves out."""
    rows = worst_first(lag.readers, show_all=show_all)
    shards = list(dict.fromkeys(shard_id for shard_id, _, _ in rows))
    shown = set(shards if show_all else shards[:SHOWN])
    is_single = len(lag.readers) == 1
    has_owner = any(row.owner for _, _, row in rows)
    headings = [
        "shard",
        *([] if is_single else ["reader"]),
        "lag",
        "state",
        "position",
        *(["owner"] if has_owner else []),
    ]
    table = _table(*headings)
    for shard_id, index, row in rows:
        if shard_id in shown:
            reader = [] if is_single else [lag.readers[index].reader]
            owner = [row.owner or "-"] if has_owner else []
            _add(table, shard_id, *reader, _lag(row), _state(row), show_position(row.position), *owner)
    return table, len(shards) - len(shown)


def worst_first(readers: Sequence[ReaderLag], *, show_all: bool) -> list[LagRow]:
    """Return a row for each shard and reader. The rows of a shard follow each other, and finished shards are left out by default."""
    by_shard: dict[str, list[LagRow]] = {}
    for index, reader in enumerate(readers):
        for shard in reader.shards:
            by_shard.setdefault(shard.shard_id, []).append((shard.shard_id, index, shard))
    kept = [
        rows
        for rows in by_shard.values()
        if show_all or any(shard.state is not State.FINISHED for _, _, shard in rows)
    ]
    kept.sort(key=lambda rows: (min(_badness(shard) for _, _, shard in rows), rows[0][0]))
    return [row for rows in kept for row in rows]


def remarks(lag: StreamLag) -> list[str]:
    """Return what else there is to say: lost records first, and notes of readers and shards."""
    lines: list[str] = []
    for reader in lag.readers:
        if reader.lost:
            lines.append(
                f"{reader.reader}: records were lost or may be lost in {show_number(reader.lost, 'shard')}."
            )
        if reader.expiring:
            hours = show_duration(lag.retention_ms)
            lines.append(
                f"{reader.reader}: {show_number(reader.expiring, 'shard')} will soon lose records. The retention is {hours}."
            )
        lines += [f"{reader.reader}: {note}" for note in reader.notes]
        lines += [
            f"{reader.reader}: {note}" for note in dict.fromkeys(s.note for s in reader.shards if s.note)
        ]
    return lines


def _badness(shard: ShardLag) -> tuple[int, int]:
    rank = _SEVERITY.index(shard.state) if shard.state in _SEVERITY else len(_SEVERITY)
    lag_ms = shard.lag_ms if shard.lag_ms is not None else 0
    if shard.state in (State.UNKNOWN, State.FINISHED):
        rank += 1 if shard.state is State.UNKNOWN else 2
    return rank, -lag_ms


def _table(*headings: str) -> Table:
    return new_table(*headings, right={"lag", "behind"}, wrapped={"reader"})


def _add(table: Table, *cells: str | Text) -> None:
    """Add a row. Words of users are a Text, so that nothing in them is markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def _worst(reader: ReaderLag) -> Text:
    from rich.text import Text

    style = (
        "bold red" if reader.lost else "bold yellow" if reader.expiring else "" if reader.behind else "green"
    )
    return Text("-" if reader.lag_ms is None else show_duration(reader.lag_ms), style)


def _progress(reader: ReaderLag, now_ms: int) -> str:
    """Return the batches of a query, or the number of workers of an application, and when the last batch was committed."""
    ago = "" if reader.committed_ms is None else f" {show_ago(now_ms - reader.committed_ms)}"
    if reader.batch is None and reader.planned is None:
        workers = len({shard.owner for shard in reader.shards if shard.owner})
        shown = show_number(workers, "worker") if workers else "no worker"
        return f"{shown}, committed{ago}" if ago else shown
    done = "no batch committed" if reader.batch is None else f"batch {reader.batch} committed{ago}"
    return done if reader.planned is None else f"{done}, {reader.planned} planned"


def _lag(shard: ShardLag) -> Text:
    from rich.text import Text

    return Text("-" if shard.lag_ms is None else show_duration(shard.lag_ms), _STYLES.get(shard.state, ""))


def _state(shard: ShardLag) -> Text:
    from rich.text import Text

    return Text(shard.state.value, _STYLES.get(shard.state, ""))
