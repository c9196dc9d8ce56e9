"""Divides the ranges of a batch among Spark's tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.datasource import InputPartition

from kinesis_core.model import RangeGroup


class ShardPartition(InputPartition):
    """The shard ranges that one task reads."""

    def __init__(self, groups: Sequence[RangeGroup], consumers: Mapping[str, str] | None = None) -> None:
        super().__init__(tuple(groups))
        self.groups: tuple[RangeGroup, ...] = self.value
        self.consumers = dict(consumers or {})
        """The ARN of the consumer by stream. Empty if the streams are polled."""


def split(
    groups: Sequence[RangeGroup],
    shards_per_task: int,
    max_partitions: int | None,
    consumers: Mapping[str, str] | None = None,
) -> list[ShardPartition]:
    """
    Return partitions of at most *shards_per_task* groups, or *max_partitions* partitions if that is given.

    The numbers of groups are nearly equal. There is no partition if there is nothing to read. A group is not divided: its
    ranges belong to related shards and are read one after the other.
    """
    count = -(-len(groups) // shards_per_task)
    if max_partitions is not None:
        count = min(max_partitions, len(groups))
    # Neighbouring shards have similar loads, so that taking them in turn balances the tasks.
    return [ShardPartition(groups[first::count], consumers) for first in range(count)]
