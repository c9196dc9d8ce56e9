"""The overview of a stream for scripts. Hash keys are text, because they exceed the numbers of JSON."""

from __future__ import annotations

from typing import Any

from kinesis_cli.lineage.overview import Overview
from kinesis_cli.traffic import Sample, rates_json
from kinesis_core.model import ListedShard


def overview_json(overview: Overview) -> dict[str, Any]:
    """Return the overview as a value that JSON can show. It has all shards, in the order of their ids."""
    summary = overview.summary
    return {
        "stream": summary.name,
        "streamArn": summary.arn,
        "status": summary.status,
        "mode": "ON_DEMAND" if summary.is_on_demand else "PROVISIONED",
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
