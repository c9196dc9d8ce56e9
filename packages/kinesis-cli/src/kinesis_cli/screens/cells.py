"""Values as cells of the tables, and as lines above them."""

from __future__ import annotations

from rich.text import Text

from kinesis_cli.lineage import bar
from kinesis_cli.live import LiveReader, ShardLine, StreamView
from kinesis_cli.output import show_ago, show_count, show_duration, show_time
from kinesis_cli.stream_lines import StreamLine
from kinesis_cli.traffic import Sample, add_up, load_style, rate_cells, rate_words, show_mode

_BAR, _GAUGE = 24, 10
_LATE_MS = 60_000


def right(text: str, style: str = "") -> Text:
    """Return a cell that is aligned to the right."""
    return Text(text, style=style, justify="right")


def shard_cells(line: ShardLine) -> list[Text]:
    """Return the row of a shard."""
    records, size_bytes, load = rate_cells(line.sample)
    for cell in (records, size_bytes, load):
        cell.justify = "right"
    return [
        Text(line.shard_id),
        Text(bar(line.hash_start, line.hash_end, _BAR), style=load_style(line.sample)),
        records,
        size_bytes,
        Text(_gauge(line.sample), style=load_style(line.sample)),
        load,
    ]


def _gauge(sample: Sample | None) -> str:
    filled = 0 if sample is None else min(_GAUGE, round(sample.load * _GAUGE))
    return "█" * filled + "░" * (_GAUGE - filled)


def reader_cells(reader: LiveReader, speed: float | None, view: StreamView) -> list[Text]:
    """Return the row of a reader of the stream in *view*."""
    lag = "-" if reader.lag_ms is None else show_duration(reader.lag_ms)
    ago = "-" if reader.committed_ms is None else show_ago(view.at_ms - reader.committed_ms)
    is_late = reader.lag_ms is not None and reader.lag_ms >= _LATE_MS
    return [
        Text(reader.name),
        Text(reader.how),
        Text(reader.status),
        right(lag, "bold red" if is_late else ""),
        right(ago),
        right("-" if speed is None else f"{speed:.1f}x"),
        right("-" if speed is None else f"~{show_count(round(speed * view.records_per_s, 1))}/s"),
    ]


def stream_cells(line: StreamLine) -> list[Text]:
    """Return the row of a stream."""
    if line.problem:
        return [Text(line.name), Text(line.problem, style="red"), *(Text("-") for _ in range(4))]
    if line.summary is None:
        return [Text(line.name), *(Text("...") for _ in range(5))]
    summary = line.summary
    return [
        Text(summary.name),
        Text(summary.status, style="" if summary.status == "ACTIVE" else "yellow"),
        Text(show_mode(summary)),
        right(show_count(summary.open_shards)),
        right(show_count(summary.consumers)),
        right(f"{summary.retention_hours} h"),
    ]


def stream_head(view: StreamView, *, is_paused: bool) -> Text:
    """Return the lines above the shards of a stream."""
    summary, total = view.summary, add_up(line.sample for line in view.shards if line.sample is not None)
    read = (
        f", the first {show_count(len(view.shards) - view.unread_shards)} are read"
        if view.unread_shards
        else ""
    )
    return Text.assemble(
        (summary.name, "bold"),
        f"  {summary.status}, {show_mode(summary)}, {show_count(len(view.shards))} open shards{read}",
        f"  {show_time(view.at_ms)}",
        ("  PAUSED" if is_paused else "", "bold yellow"),
        f"\nin {rate_words(total)}",
    )
