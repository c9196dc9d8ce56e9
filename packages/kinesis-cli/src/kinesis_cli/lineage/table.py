"""The overview of a stream as text: its facts, the tree of its shards, and what is not shown."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kinesis_cli.lineage.bars import bar
from kinesis_cli.lineage.choice import Shown
from kinesis_cli.lineage.overview import Overview
from kinesis_cli.lineage.tree import Row, grow
from kinesis_cli.output import WholeLine, WholeTable, show_count
from kinesis_cli.traffic import add_up, load_style, rate_cells, total_line

_WIDEST_BAR, _NARROWEST_BAR = 32, 8


def draw(overview: Overview, shown: Shown) -> list[RenderableType]:
    """Return the parts of the text, one below the other."""
    arn = WholeLine(overview.summary.arn, "dim")
    parts: list[RenderableType] = [_facts(overview), arn, Text(_counts(overview)), Text()]
    parts.append(ShardTable(overview, tuple(grow(shown.shards))))
    if left := shown.open_left + shown.closed_left:
        kinds = ", ".join(
            f"{show_count(count)} {kind}"
            for count, kind in ((shown.open_left, "open"), (shown.closed_left, "closed"))
            if count
        )
        parts.append(
            Text(f"{show_count(left)} more shards are not shown ({kinds}). --all shows them.", style="dim")
        )
    return parts


def _facts(overview: Overview) -> Text:
    summary = overview.summary
    facts = (
        summary.status,
        "on-demand" if summary.is_on_demand else "provisioned",
        f"retention {_retention(summary.retention_hours)}",
        "encrypted" if summary.is_encrypted else "not encrypted",
        *(["records distributed by Kinesis"] if summary.is_auto_distributed else []),
    )
    return Text.assemble((summary.name, "bold"), "  ", ", ".join(facts))


def _retention(hours: int) -> str:
    return f"{hours} h" if hours % 24 or hours == 24 else f"{hours // 24} days"


def _counts(overview: Overview) -> str:
    opened = overview.open_count
    text = f"{show_count(opened)} open shard{'s' * (opened != 1)}, {show_count(len(overview.shards) - opened)} closed."
    if overview.sample_ms is None:
        return text
    return f"{text} {total_line(add_up(overview.samples.values()), overview.sample_ms)}"


@frozen
class ShardTable:
    """The tree of shards. The bars take the width that the other columns leave. There are none if that is too little."""

    overview: Overview
    rows: Sequence[Row]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrowest = Measurement.get(
            console, options.update(max_width=10_000), self._table(_NARROWEST_BAR)
        ).maximum
        free = options.max_width - narrowest + _NARROWEST_BAR
        yield WholeTable(self._table(0 if free < _NARROWEST_BAR else min(_WIDEST_BAR, free)))

    def _table(self, width: int) -> Table:
        """Return the table with bars of this width; without bars if that is 0."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("SHARD", no_wrap=True)
        if width:
            table.add_column("HASH KEYS", no_wrap=True)
        table.add_column("STATE")
        if self.overview.sample_ms is not None:
            for name in ("RECORDS/S", "BYTES/S", "LOAD"):
                table.add_column(name, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*self._cells(row, width), style="" if row.shard.is_open else "dim")
        return table

    def _cells(self, row: Row, width: int) -> list[Text]:
        shard = row.shard
        sample = self.overview.samples.get(shard.shard_id)
        name = Text.assemble((row.branch, "dim"), shard.shard_id)
        for other in row.also_from:
            name.append(f" + {_number(other)}", "dim")
        cells = [
            name,
            *([Text(bar(shard.hash_start, shard.hash_end, width), load_style(sample))] if width else []),
            Text("open" if shard.is_open else "closed"),
        ]
        if self.overview.sample_ms is not None:
            cells += rate_cells(sample) if shard.is_open else [Text()] * 3
        return cells


def _number(shard_id: str) -> str:
    """Return the part of a shard id that tells it from others."""
    number = shard_id.removeprefix("shardId-")
    return str(int(number)) if number.isdecimal() else shard_id
