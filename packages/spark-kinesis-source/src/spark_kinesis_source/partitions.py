"""How the ranges of a batch are dealt out to Spark's tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.datasource import InputPartition

from kinesis_core.model import RangeGroup

SHARDS_PER_TASK = 16
"""When the user does not say: a task's threads serve so many with ease, and each task costs its own start."""


class ShardPartition(InputPartition):
    """The shard ranges that one task reads."""

    def __init__(self, groups: Sequence[RangeGroup], consumers: Mapping[str, str] | None = None) -> None:
        super().__init__(tuple(groups))
        self.groups: tuple[RangeGroup, ...] = self.value
        self.consumers = dict(consumers or {})
        """The ARN of the consumer to read through, by stream; empty when the streams are polled."""


def split(
    groups: Sequence[RangeGroup],
    shards_per_task: int | None,
    max_partitions: int | None,
    consumers: Mapping[str, str] | None = None,
) -> list[ShardPartition]:
    """
    Return partitions of nearly equal numbers of chains; none when there is nothing to read.

    Ranges of one chain belong to related shards, are read one after the other, and stay together.
    """
    if max_partitions is None:
        count = -(-len(groups) // (shards_per_task or SHARDS_PER_TASK))
    else:
        count = min(max_partitions, len(groups))
    # Neighbours differ in load less than shards far apart: dealing them out in turn evens tasks out.
    return [ShardPartition(groups[first::count], consumers) for first in range(count)]
