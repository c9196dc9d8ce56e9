"""Ranges are divided among tasks."""

from __future__ import annotations

import pickle

import pytest

from kinesis_core.model import After, RangeGroup, ShardEnd, ShardRange
from spark_kinesis_source.partitions import split


def make_groups(count: int) -> list[RangeGroup]:
    return [
        (ShardRange("orders", f"shardId-{number:012}", After(number), ShardEnd()),) for number in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "shards_per_task", "max_partitions", "sizes"),
    [
        (0, 16, None, []),
        (0, 16, 4, []),
        (1, 16, None, [1]),
        (16, 16, None, [16]),
        (17, 16, None, [9, 8]),
        (16, 1, None, [1] * 16),
        (10, 4, None, [4, 3, 3]),
        (10, 16, 3, [4, 3, 3]),
        (2, 16, 3, [1, 1]),
    ],
)
def test_sizes(count: int, shards_per_task: int, max_partitions: int | None, sizes: list[int]) -> None:
    """Tasks get nearly equal numbers of groups: so many at most, unless the number of tasks is given."""
    groups = make_groups(count)
    parts = split(groups, shards_per_task, max_partitions)
    assert [len(part.groups) for part in parts] == sizes
    dealt = [group for part in parts for group in part.groups]
    assert sorted(dealt, key=lambda group: group[0].shard_id) == groups


def test_pickling() -> None:
    """A partition pickles with its ranges."""
    (part,) = split(make_groups(3), 16, None)
    assert pickle.loads(pickle.dumps(part)).groups == part.groups  # noqa: S301 - our own bytes
