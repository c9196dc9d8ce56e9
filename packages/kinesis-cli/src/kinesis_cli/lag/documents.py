"""The lag of readers as JSON. The names are part of the command's interface."""

from __future__ import annotations

from typing import Any

from kinesis_cli.lag.results import ReaderLag, ShardLag, StreamLag
from kinesis_cli.output import show_time


def to_document(lag: StreamLag) -> dict[str, Any]:
    """Return *lag* for JSON. Finished shards are in it too."""
    return {
        "stream": lag.stream,
        "streamArn": lag.arn,
        "measuredAt": show_time(lag.measured_ms),
        "retentionMs": lag.retention_ms,
        "readers": [_reader(reader) for reader in lag.readers],
    }


def _reader(reader: ReaderLag) -> dict[str, Any]:
    return {
        "reader": reader.reader,
        "kind": reader.kind or None,
        "lagMs": reader.lag_ms,
        "shardsBehind": reader.behind,
        "shardsExpiring": reader.expiring,
        "shardsLost": reader.lost,
        "committedBatch": reader.batch,
        "plannedBatch": reader.planned,
        "problem": reader.problem,
        "notes": list(reader.notes),
        "shards": [_shard(shard) for shard in reader.shards],
    }


def _shard(shard: ShardLag) -> dict[str, Any]:
    return {
        "shardId": shard.shard_id,
        "state": shard.state.value,
        "lagMs": shard.lag_ms,
        "position": shard.position,
        "owner": shard.owner,
        "note": shard.note or None,
    }
