"""What `kinesis shards` shows of a stream: its facts, its shards, and a sample of each open one. Also for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kinesis_cli.output import note, show_count
from kinesis_cli.traffic import Sample, Window, bounds_for, rates_json, sample_shards
from kinesis_core.aws import StreamApi
from kinesis_core.model import ListedShard, StreamSummary, with_children

MAX_BYTES = 2 * 1024 * 1024
"""Of one shard."""
MANY_SHARDS = 500
"""A sample of this many shards takes seconds."""


@frozen
class Overview:
    """A stream at one moment."""

    summary: StreamSummary
    shards: tuple[ListedShard, ...]
    """In the order of their ids."""
    sample_ms: int | None
    """The time that the samples go back. None: nothing was sampled."""
    samples: Mapping[str, Sample]
    """By shard id. Closed shards have none, and neither have those whose readers use up their quota."""

    @property
    def open_count(self) -> int:
        return sum(shard.is_open for shard in self.shards)


def look(api: StreamApi, sample_ms: int | None) -> Overview:
    """Return the stream behind *api*, with a sample of its latest *sample_ms* milliseconds."""
    summary = api.describe()
    shards = with_children(api.list_shards())
    samples: Mapping[str, Sample] = {}
    if sample_ms is not None:
        opened = [shard for shard in shards if shard.is_open]
        window = Window.of_last(sample_ms, api, summary.created_ms)
        if len(opened) >= MANY_SHARDS:
            note(f"Reading a sample of {show_count(len(opened))} shards. --no-sample goes without.")
        samples = sample_shards(api, opened, window, bounds_for(len(opened), MAX_BYTES))
    return Overview(summary, tuple(shards), sample_ms, samples)


def overview_json(overview: Overview) -> dict[str, Any]:
    """Return the overview as a value that JSON can show. It has all shards, in the order of their ids."""
    summary = overview.summary
    return {
        "stream": summary.name,
        "streamArn": summary.arn,
        "status": summary.status,
        "mode": summary.mode,
        "retentionHours": summary.retention_hours,
        "isEncrypted": summary.is_encrypted,
        "openShards": overview.open_count,
        "closedShards": len(overview.shards) - overview.open_count,
        "sampleMs": overview.sample_ms,
        "shards": [_shard(shard, overview.samples.get(shard.shard_id)) for shard in overview.shards],
    }


def _shard(shard: ListedShard, sample: Sample | None) -> dict[str, Any]:
    return {
        "shardId": shard.shard_id,
        "state": "OPEN" if shard.is_open else "CLOSED",
        "startingHashKey": str(shard.hash_start),
        "endingHashKey": str(shard.hash_end),
        "parents": list(shard.parents),
        "children": list(shard.children),
        "in": None if sample is None else rates_json(sample),
    }
