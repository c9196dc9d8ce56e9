"""Writes the present state of all streams as lines of a journal. Of the past it keeps only what must not be used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from kinesis_emulator.consumers import Consumers
from kinesis_emulator.journal import StreamLog, Write
from kinesis_emulator.shards import Shard


@dataclass(frozen=True)
class StreamState:
    """The parts of a stream that a snapshot writes. The caller holds the stream's lock."""

    stream_id: int
    facts: Mapping[str, Any]
    shards: Sequence[Shard]
    consumers: Consumers


def write_snapshot(write: Write, streams: Sequence[StreamState], last_id: int, last_opened_s: int) -> None:
    """Write the lines that restore *streams*. Deleted streams had ids up to *last_id*."""
    StreamLog(write, last_id).history(last_opened_s)
    for stream in streams:
        _write_stream(StreamLog(write, stream.stream_id), stream)


def _write_stream(log: StreamLog, stream: StreamState) -> None:
    # Shards that were opened in the same second were opened together; the first ones with the stream.
    generations = [list(shards) for _, shards in groupby(stream.shards, lambda shard: shard.opened_s)]
    first = generations[0]
    log.created(stream.facts, len(first), first[0].opened_s)
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
