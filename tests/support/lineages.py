"""Streams that were resharded, with short names for shards: shard 3 is shardId-000000000003."""

from __future__ import annotations

import random

from kinesis_core.leases import Lease, LeaseCheckpoint
from kinesis_core.model import Listing, by_id
from support.fake_stream import FakeClock, FakeStream


def name(number: int) -> str:
    return f"shardId-{number:012d}"


def numbers(shard_ids: list[str]) -> list[int]:
    return [int(shard_id.rpartition("-")[2]) for shard_id in shard_ids]


def new_stream(shards: int) -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0)).create(shards)


def family() -> FakeStream:
    """
    Return a stream with three generations, which is the example of the KCL's HierarchicalShardSyncer.

        0 1 2 3 4  5
        \\/  \\/  |  |\\
        6   7  |  9 10
         \\ /   |
          8    4         open: 4, 8, 9, 10
    """
    stream = new_stream(6)
    stream.merge(name(0), name(1))
    stream.merge(name(2), name(3))
    stream.merge(name(6), name(7))
    stream.split(name(5))
    return stream


def listed(stream: FakeStream) -> Listing:
    return by_id(stream.list_shards())


def lease_of(stream: FakeStream, number: int, checkpoint: str = "49") -> Lease:
    """Return a lease of shard *number*, which the stream may have forgotten."""
    shard = {**stream.gone, **stream.shards}[name(number)]
    return Lease(
        shard.shard_id,
        LeaseCheckpoint(checkpoint),
        parents=shard.parents,
        hash_range=(shard.hash_start, shard.hash_end),
    )


def forget(stream: FakeStream, *shards: int) -> None:
    """Let closed shards leave the stream."""
    for number in shards:
        stream.gone[name(number)] = stream.shards.pop(name(number))
