"""Cuts the next page of a shard's records, for one response or event."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kinesis_emulator.iterators import ShardOffset
from kinesis_emulator.service import Settings
from kinesis_emulator.shards import Shard
from kinesis_emulator.store import Stream


@dataclass(frozen=True)
class Page:
    """The records from index `start` up to `stop`, and the next position. `following` is None at a shard's end."""

    start: int
    stop: int
    following: ShardOffset | None
    behind_ms: int


@dataclass(frozen=True)
class PageSize:
    """The maximum size of a page. A page of one record may have more bytes."""

    max_records: int
    max_bytes: int | None


def next_page(
    stream: Stream, shard: Shard, position: ShardOffset, size: PageSize, settings: Settings, now_ms: int
) -> Page:
    """Return the page after *position*, and trim expired records. The caller holds the stream's lock."""
    shard.trim(stream.horizon_ms(now_ms), keep=settings.keep_trimmed)
    if position.index < shard.trimmed and settings.trimmed_start == "empty_pages":
        return Page(position.index, position.index, position, behind_ms=stream.retention_hours * 3_600_000)
    start = max(position.index, shard.trimmed)
    scanned_ms = max(position.scanned_ms, stream.horizon_ms(now_ms))
    scan_to_ms = now_ms if settings.scan_ms is None else scanned_ms + settings.scan_ms
    end = max(start, shard.readable_end(now_ms))
    seen = end
    if settings.scan_ms is not None:
        seen = min(end, max(start, shard.records.index_at_time(scan_to_ms)))
    stop = _cut(shard, start, seen, size)
    if stop == end < shard.records.end:
        # The next record exists but cannot be read yet. So reading stops here, and this is not the tip.
        reached_ms = min(scan_to_ms, shard.records.peak_ms(stop))
        return Page(start, stop, ShardOffset(stop, reached_ms), behind_ms=max(1, now_ms - reached_ms))
    tip_ms = now_ms if shard.closed_ms is None else shard.closed_ms
    if stop == end and scan_to_ms >= tip_ms:
        is_last = shard.closed_ms is not None and (start == stop or settings.shard_end == "with_last_records")
        return Page(start, stop, None if is_last else ShardOffset(end, tip_ms), behind_ms=0)
    reached_ms = shard.records.peak_ms(stop - 1) if stop < seen or settings.scan_ms is None else scan_to_ms
    return Page(start, stop, ShardOffset(stop, reached_ms), behind_ms=max(1, now_ms - reached_ms))


def _cut(shard: Shard, start: int, stop: int, size: PageSize) -> int:
    """Return the end of a page from *start*, at most *stop*."""
    if start == stop:
        return stop
    stop = min(stop, start + size.max_records)
    return (
        stop if size.max_bytes is None else min(stop, shard.records.index_after_bytes(start, size.max_bytes))
    )


def encode_page(fragments: Iterable[bytes], tail: dict[str, Any]) -> bytes:
    """Return a page as JSON. Records are encoded when they are put, so that a read only joins them."""
    return b'{"Records":[%s],%s' % (
        b",".join(fragments),
        json.dumps(tail, separators=(",", ":"))[1:].encode(),
    )
