"""Shows saved offsets: a table for each stream, or JSON in which no stream is packed."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kinesis_cli.output import show_json, show_number, show_position
from kinesis_cli.saved_offsets.reading import SavedOffsets

if TYPE_CHECKING:
    from kinesis_core.model import ShardOffset, StreamOffset

_HEADINGS = ("shard", "position", "arrived", "empty until", "first")


def show_saved(saved: SavedOffsets, *, as_json: bool) -> None:
    """Write *saved* to the standard output."""
    if as_json:
        for offset in saved.offsets:
            show_json(offset.to_json(max_shards=math.inf))
        return
    streams = [item for offset in saved.offsets for item in sorted(offset.streams.items())]
    blocks = [
        "\n".join([f"{saved.where}: {name}, {_facts(stream)}", *_table(stream)]) for name, stream in streams
    ]
    sys.stdout.write("\n".join(f"{block}\n" for block in blocks))
    sys.stdout.flush()


def _facts(stream: StreamOffset) -> str:
    from kinesis_core.model import show_time

    retention = "" if stream.kept_hours is None else f", retention {stream.kept_hours} h"
    return f"{show_number(len(stream.shards), 'shard')}, created {show_time(stream.created_ms)}{retention}"


def _table(stream: StreamOffset) -> Iterator[str]:
    """Return the lines of the table. Rich would take 12 seconds for 10,000 shards."""
    rows = [_HEADINGS, *(_row(shard_id, shard) for shard_id, shard in sorted(stream.shards.items()))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(shard_id: str, shard: ShardOffset) -> Sequence[str]:
    from kinesis_core.model import show_time

    time = "-" if shard.arrived_ms is None else show_time(shard.arrived_ms)
    times = ("-", time) if shard.was_empty else (time, "-")
    skip = f" (skip {shard.first_skip})" if shard.first_skip else ""
    first = None if shard.first is None else f"{shard.first}{skip}"
    return shard_id, show_position(str(shard.cut)), *times, show_position(first)
