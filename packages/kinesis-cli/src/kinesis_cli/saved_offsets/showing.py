"""Shows saved offsets: a table for each stream, or JSON in which no stream is packed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kinesis_cli.output import WholeTable, new_table, show, show_json, show_number, show_position
from kinesis_cli.saved_offsets.reading import SavedOffsets

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from kinesis_core.model import ShardOffset, StreamOffset


def show_saved(saved: SavedOffsets, *, as_json: bool) -> None:
    """Write *saved* to the standard output."""
    if as_json:
        for offset in saved.offsets:
            show_json(offset.to_json(max_shards=math.inf))
        return
    from rich.text import Text

    blocks: list[RenderableType] = []
    for offset in saved.offsets:
        for name, stream in sorted(offset.streams.items()):
            heading = Text(f"{saved.where}: {name}, {_facts(stream)}")
            blocks += [*([""] if blocks else []), heading, WholeTable(_table(stream))]
    show(*blocks)


def _facts(stream: StreamOffset) -> str:
    from kinesis_core.model import show_time

    retention = "" if stream.kept_hours is None else f", retention {stream.kept_hours} h"
    return f"{show_number(len(stream.shards), 'shard')}, created {show_time(stream.created_ms)}{retention}"


def _table(stream: StreamOffset) -> Table:
    from rich.text import Text

    from kinesis_core.model import show_time

    table = new_table("shard", "position", "arrived", "empty until", "first")
    for shard_id, shard in sorted(stream.shards.items()):
        time = "-" if shard.arrived_ms is None else show_time(shard.arrived_ms)
        times = ("-", time) if shard.was_empty else (time, "-")
        table.add_row(Text(shard_id), show_position(str(shard.cut)), *times, _first(shard))
    return table


def _first(shard: ShardOffset) -> str:
    skip = f" (skip {shard.first_skip})" if shard.first_skip else ""
    return show_position(None if shard.first is None else f"{shard.first}{skip}")
