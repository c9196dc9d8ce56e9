"""Streams as they are, in the lines of a journal: what has gone leaves nothing but what must not be used again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kinesis_emulator.journal import StreamLog, Write
from kinesis_emulator.shards import Shard

if TYPE_CHECKING:
    from kinesis_emulator.store import Stream


def write_snapshot(write: Write, streams: Sequence[Stream], last_id: int, last_opened_s: int) -> None:
    """Write what makes *streams* again; the caller holds their locks. Others had ids up to *last_id*, and are gone."""
    StreamLog(write, last_id).history(last_opened_s)
    for stream in streams:
        if stream.log is not None:
            _write_stream(StreamLog(write, stream.log.stream_id), stream)


def _write_stream(log: StreamLog, stream: Stream) -> None:
    # The shards of one second were opened together; the first ones came with the stream.
    generations = [list(shards) for _, shards in groupby(stream.shards, lambda shard: shard.opened_s)]
    first = generations[0]
    log.created(stream, len(first), first[0].opened_s)
    for shards in generations[1:]:
        ranges = [(shard.hash_start, shard.hash_end) for shard in shards]
        parents = [parent.index for parent in shards[0].parents]
        log.resharded(ranges, parents, shards[0].opened_s, shards[0].opened_ms)
    for shard in stream.shards:
        _write_records(log, shard)
    for consumer in stream.consumers.every():
        log.registered(consumer)
        if consumer.gone_ms is not None:
            log.deregistered(consumer.name, consumer.gone_ms)


def _write_records(log: StreamLog, shard: Shard) -> None:
    records = shard.records
    if records.first:
        log.freed(shard.index, records.first, records.freed_peak_ms)
    for fragment, size, peak_ms in records.entries():
        log.put(shard.index, size, peak_ms, fragment)
    if shard.trimmed > records.first:
        log.trimmed(shard.index, shard.trimmed)
