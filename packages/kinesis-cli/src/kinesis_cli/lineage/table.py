"""The overview of a stream as text: its facts, the tree of the shards that are shown, and bars for their hash keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kinesis_cli.lineage.overview import Overview
from kinesis_cli.output import WholeLine, WholeTable, new_table, show_count, show_number
from kinesis_cli.traffic import RATES, Sample, add_up, load_style, rate_cells, show_mode, total_line
from kinesis_core.model import HASH_KEYS, Shard, ancestors, by_id


@frozen
class TreeRow:
    """A line of the tree."""

    shard: Shard
    branch: str
    """Spaces and lines before the shard's id."""
    also_from: tuple[str, ...]
    """Its other parents. A shard that was merged of two stands below one of them."""


def grow(shards: Iterable[Shard]) -> list[TreeRow]:
    """Return the lines of the tree of *shards*, in the order of the hash keys, with each child below a parent."""
    listing = {shard.shard_id: shard for shard in shards}
    children: dict[str | None, list[Shard]] = {}
    for shard in sorted(listing.values(), key=lambda one: (one.hash_start, one.shard_id)):
        children.setdefault(_above(shard, listing), []).append(shard)
    rows = []
    waiting = [(shard, "", "") for shard in reversed(children.get(None, []))]
    while waiting:  # not a recursion: a lineage may have thousands of generations
        shard, branch, below = waiting.pop()
        above = _above(shard, listing)
        rows.append(
            TreeRow(shard, branch, tuple(parent for parent in shard.parents if above and parent != above))
        )
        own = children.get(shard.shard_id, [])
        waiting += [
            (
                child,
                f"{below}{'└ ' if child is own[-1] else '├ '}",
                f"{below}{'  ' if child is own[-1] else '│ '}",
            )
            for child in reversed(own)
        ]
    return rows


def _above(shard: Shard, listing: dict[str, Shard]) -> str | None:
    """Return the parent that *shard* stands below: the first one that is there."""
    return next((parent for parent in shard.parents if parent in listing), None)


EMPTY, LEFT, RIGHT, FULL, THIN = "·▌▐█▏"


def bar(start: int, end: int, width: int) -> str:
    """
    Return all hash keys as *width* characters, with those from *start* to *end* filled.

    A half is filled if its middle is in the range. So shards that share the hash keys never fill the same half. A range that
    contains no middle is a thin line.
    """
    halves = [start <= HASH_KEYS * (2 * half + 1) // (4 * width) <= end for half in range(2 * width)]
    cells = [
        FULL if left and right else LEFT if left else RIGHT if right else EMPTY
        for left, right in zip(halves[::2], halves[1::2], strict=True)
    ]
    if not any(halves):
        cells[(start + end) // 2 * width // HASH_KEYS] = THIN
    return "".join(cells)


@frozen
class Shown:
    """The shards that are shown, and how many are not."""

    shards: tuple[Shard, ...]
    open_left: int
    closed_left: int


def choose(shards: Sequence[Shard], samples: Mapping[str, Sample], most: int | None) -> Shown:
    """
    Return the shards to show: *most* open ones, the busiest first, with their ancestors if these are as few. None: all.

    Among shards that are equally busy, those with the lower hash keys come first.
    """
    if most is None or len(shards) <= most:
        return Shown(tuple(shards), 0, 0)
    open_shards = [shard for shard in shards if shard.is_open]
    busiest = sorted(open_shards, key=lambda shard: (-_load(shard, samples), shard.hash_start))[:most]
    listing = by_id(shards)
    above = ancestors([shard.shard_id for shard in busiest], listing)
    closed = [listing[shard_id] for shard_id in sorted(above)] if len(above) <= most else []
    closed_count = len(shards) - len(open_shards)
    return Shown((*busiest, *closed), len(open_shards) - len(busiest), closed_count - len(closed))


def _load(shard: Shard, samples: Mapping[str, Sample]) -> float:
    sample = samples.get(shard.shard_id)
    return 0.0 if sample is None else sample.load


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
        show_mode(summary),
        f"retention {_retention(summary.retention_hours)}",
        "encrypted" if summary.is_encrypted else "not encrypted",
        *(["records distributed by Kinesis"] if summary.is_auto_distributed else []),
    )
    return Text.assemble((summary.name, "bold"), "  ", ", ".join(facts))


def _retention(hours: int) -> str:
    return f"{hours} h" if hours % 24 or hours == 24 else f"{hours // 24} days"


def _counts(overview: Overview) -> str:
    opened = overview.open_count
    text = f"{show_number(opened, 'open shard')}, {show_count(len(overview.shards) - opened)} closed."
    if overview.sample_ms is None:
        return text
    return f"{text} {total_line(add_up(overview.samples.values()), overview.sample_ms)}"


@frozen
class ShardTable:
    """The tree of shards. The bars take the width that the other columns leave. There are none if that is too little."""

    overview: Overview
    rows: Sequence[TreeRow]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrowest = Measurement.get(
            console, options.update(max_width=10_000), self._table(_NARROWEST_BAR)
        ).maximum
        free = options.max_width - narrowest + _NARROWEST_BAR
        yield WholeTable(self._table(0 if free < _NARROWEST_BAR else min(_WIDEST_BAR, free)))

    def _table(self, width: int) -> Table:
        """Return the table with bars of this width; without bars if that is 0."""
        bars = ["HASH KEYS"] if width else []
        rates = [] if self.overview.sample_ms is None else RATES
        table = new_table("SHARD", *bars, "STATE", *rates, right=RATES)
        for row in self.rows:
            table.add_row(*self._cells(row, width), style="" if row.shard.is_open else "dim")
        return table

    def _cells(self, row: TreeRow, width: int) -> list[Text]:
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
