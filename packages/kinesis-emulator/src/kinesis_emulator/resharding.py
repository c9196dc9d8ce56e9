"""SplitShard, MergeShards and UpdateShardCount."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinesis_emulator.errors import AwsError, invalid_argument, shard_not_found
from kinesis_emulator.quotas import check_shards, count_scaling
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.shards import StoredShard
from kinesis_emulator.store import StoredStream, even_ranges

_MOST_SHARDS = 10_000
"""Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html"""


def split_shard(service: Service, request: Request) -> None:
    shard_id = service.shard_id(request, "ShardToSplit")
    with _reshard(service, request, service.settings.limits.split_shard_per_s) as stream:
        check_shards(service, stream, 1)
        split(service, stream, shard_id, int(request.text("NewStartingHashKey")))


def merge_shards(service: Service, request: Request) -> None:
    shard_id, adjacent_id = (
        service.shard_id(request, name) for name in ("ShardToMerge", "AdjacentShardToMerge")
    )
    with _reshard(service, request, service.settings.limits.merge_shards_per_s) as stream:
        merge(service, stream, shard_id, adjacent_id)


def update_shard_count(service: Service, request: Request) -> dict[str, Any]:
    target = request.integer("TargetShardCount")
    with _reshard(service, request, service.settings.limits.update_shard_count_per_s) as stream:
        current = len(stream.open_shards)
        if service.settings.limits.enforce_scaling:
            _check_scaling(current, target)
        check_shards(service, stream, target - current)
        count_scaling(service, stream)
        scale(service, stream, target)
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


def split(
    service: Service, stream: StoredStream, shard_id: str, new_start: int | None = None
) -> list[StoredShard]:
    """Close the shard and return its two children. The second one begins at *new_start*, by default the middle."""
    with stream.lock:
        shard = _open_shard(service, stream, shard_id)
        if new_start is None:
            new_start = (shard.hash_start + shard.hash_end + 1) // 2
        if not shard.hash_start + 1 < new_start < shard.hash_end:
            raise invalid_argument(
                f"NewStartingHashKey {new_start} used in SplitShard() on shard {shard_id} in stream {stream.name} "
                f"under account {stream.account_id} is not both greater than one plus the shard's StartingHashKey "
                f"{shard.hash_start} and less than the shard's EndingHashKey {shard.hash_end}."
            )
        children = _split(service, stream, shard, new_start)
        stream.save()
        return children


def merge(service: Service, stream: StoredStream, shard_id: str, adjacent_id: str) -> StoredShard:
    """Close two shards with adjacent hash keys, the lower ones first, and return their child."""
    with stream.lock:
        shard, adjacent = (_open_shard(service, stream, name) for name in (shard_id, adjacent_id))
        if shard.hash_end + 1 != adjacent.hash_start:
            raise invalid_argument(
                f"Shards {shard_id} and {adjacent_id} in stream {stream.name} under account {stream.account_id} "
                "are not an adjacent pair of shards eligible for merging"
            )
        child = _merge(service, stream, shard, adjacent)
        stream.save()
        return child


def scale(service: Service, stream: StoredStream, target: int) -> None:
    """
    Split and merge until *target* shards share the hash keys evenly.

    As on AWS, this opens and closes intermediate shards unless the count is doubled or halved.
    """
    with stream.lock:
        for start, end in even_ranges(target):
            # Split a shard at each end of the range that is inside it; there may be several.
            for cut in (start, end + 1):
                shard = stream.route(cut)
                if shard.hash_start < cut <= shard.hash_end:
                    _split(service, stream, shard, cut)
            whole, *pieces = stream.open_shards_from(start, end)
            for piece in pieces:
                whole = _merge(service, stream, whole, piece)
        stream.save()


def _split(service: Service, stream: StoredStream, shard: StoredShard, new_start: int) -> list[StoredShard]:
    ranges = [(shard.hash_start, new_start - 1), (new_start, shard.hash_end)]
    return _replace(service, stream, (shard,), ranges)


def _merge(service: Service, stream: StoredStream, shard: StoredShard, adjacent: StoredShard) -> StoredShard:
    merged = (min(shard.hash_start, adjacent.hash_start), max(shard.hash_end, adjacent.hash_end))
    return _replace(service, stream, (shard, adjacent), [merged])[0]


def _replace(
    service: Service, stream: StoredStream, parents: tuple[StoredShard, ...], ranges: list[tuple[int, int]]
) -> list[StoredShard]:
    now_ms = service.now_ms()
    return stream.open_shards_in(ranges, parents, service.store.next_opened_s(now_ms), now_ms)


def _open_shard(service: Service, stream: StoredStream, shard_id: str) -> StoredShard:
    shard = stream.find_shard(shard_id, service.now_ms())
    if shard is None:
        raise shard_not_found(shard_id, stream.name, stream.account_id)
    if shard.closed_ms is not None:
        raise invalid_argument(
            f"Shard {shard_id} in stream {stream.name} under account {stream.account_id} has already been merged or "
            "split, and thus is not eligible for merging or splitting."
        )
    return shard
