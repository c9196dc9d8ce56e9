"""SplitShard, MergeShards and UpdateShardCount."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinesis_emulator import reshards
from kinesis_emulator.errors import AwsError
from kinesis_emulator.quotas import check_shards, count_change
from kinesis_emulator.requests import Request
from kinesis_emulator.reshards import Reshard
from kinesis_emulator.service import Service
from kinesis_emulator.store import StoredStream

_MOST_SHARDS = 10_000
"""Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html"""


def split_shard(service: Service, request: Request) -> None:
    shard_id = service.shard_id(request, "ShardToSplit")
    with _reshard(service, request, service.settings.limits.split_shard_per_s) as stream:
        check_shards(service, stream, 1)
        begin(service, stream, ["split", shard_id, int(request.text("NewStartingHashKey"))])


def merge_shards(service: Service, request: Request) -> None:
    shard_id, adjacent_id = (
        service.shard_id(request, name) for name in ("ShardToMerge", "AdjacentShardToMerge")
    )
    with _reshard(service, request, service.settings.limits.merge_shards_per_s) as stream:
        begin(service, stream, ["merge", shard_id, adjacent_id])


def update_shard_count(service: Service, request: Request) -> dict[str, Any]:
    target = request.integer("TargetShardCount")
    with _reshard(service, request, service.settings.limits.update_shard_count_per_s) as stream:
        current = len(stream.open_shards)
        if service.settings.limits.enforce_scaling:
            _check_scaling(current, target)
        check_shards(service, stream, target - current)
        count_change(service, stream, request.action, service.settings.limits.scalings_per_day)
        begin(service, stream, ["scale", target])
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardCount": current,
        "TargetShardCount": target,
    }


@contextmanager
def _reshard(service: Service, request: Request, rate: int | None) -> Iterator[StoredStream]:
    """Yield the stream that *request* reshards, as `Service.change` does. An on-demand stream is refused."""
    with service.change(request) as stream:
        if stream.mode == "ON_DEMAND":
            raise AwsError(
                "ValidationException",
                f"Request is invalid. Stream {stream.name} under account {stream.account_id} is in On-Demand mode.",
            )
        service.admit(request.action, f"account {stream.account_id}", rate)
        yield stream


def _check_scaling(current: int, target: int) -> None:
    if target > _MOST_SHARDS:
        raise AwsError(
            "LimitExceededException",
            f"UpdateShardCount cannot scale over {_MOST_SHARDS} shards. "
            f"Current open shard count: {current} Target shard count: {target}",
        )
    if target > 2 * current:
        relation = "up over double"
    elif 2 * target < current:
        relation = "down below half"
    else:
        return
    raise AwsError(
        "LimitExceededException",
        f"UpdateShardCount cannot scale {relation} your current open shard count. "
        f"Current open shard count: {current} Target shard count: {target}",
    )


def begin(service: Service, stream: StoredStream, reshard: Reshard) -> None:
    """Let a reshard be done at the end of the status UPDATING that begins now."""
    reshards.begin(service.store, stream, reshard, service.now_ms(), service.settings.stream_updating_s)
