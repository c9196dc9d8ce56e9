"""Lists, splits and merges the shards of a stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from attrs import define, frozen


@frozen
class ShownShard:
    """A shard as the screen shows it."""

    shard_id: str
    parents: tuple[str, ...]
    hash_start: int
    hash_end: int
    is_open: bool

    @property
    def width(self) -> int:
        return self.hash_end - self.hash_start + 1


@define
class Shards:
    """Reads and changes the shards of one stream by plain boto3."""

    _client: Any
    stream: str
    changes: int = 0

    def show(self) -> list[ShownShard]:
        """Return all shards in the order of their ids."""
        response = self._client.list_shards(StreamName=self.stream)
        return sorted((_shown(facts) for facts in response["Shards"]), key=lambda shard: shard.shard_id)

    def split_widest(self) -> None:
        """Split the open shard with the most hash keys into halves, once the last change is done."""
        self._wait_until_active()
        shard = max(self._open(), key=lambda shard: shard.width)
        middle = shard.hash_start + shard.width // 2
        self._client.split_shard(
            StreamName=self.stream, ShardToSplit=shard.shard_id, NewStartingHashKey=str(middle)
        )
        self.changes += 1

    def merge_narrowest(self) -> None:
        """Merge the two adjacent open shards with the fewest hash keys together, once the last change is done."""
        self._wait_until_active()
        by_hash_key = sorted(self._open(), key=lambda shard: shard.hash_start)
        left, right = min(pairwise(by_hash_key), key=lambda pair: pair[0].width + pair[1].width)
        self._client.merge_shards(
            StreamName=self.stream, ShardToMerge=left.shard_id, AdjacentShardToMerge=right.shard_id
        )
        self.changes += 1

    def _wait_until_active(self) -> None:
        waiter = self._client.get_waiter("stream_exists")
        waiter.wait(StreamName=self.stream, WaiterConfig={"Delay": 1, "MaxAttempts": 60})

    def _open(self) -> list[ShownShard]:
        return [shard for shard in self.show() if shard.is_open]


def _shown(facts: dict[str, Any]) -> ShownShard:
    parents = (facts.get("ParentShardId"), facts.get("AdjacentParentShardId"))
    return ShownShard(
        facts["ShardId"],
        tuple(parent for parent in parents if parent),
        int(facts["HashKeyRange"]["StartingHashKey"]),
        int(facts["HashKeyRange"]["EndingHashKey"]),
        "EndingSequenceNumber" not in facts["SequenceNumberRange"],
    )
