"""How ranges are dealt out to tasks."""

from __future__ import annotations

import pickle

import pytest

from kinesis_core.model import After, RangeGroup, ShardEnd, ShardRange
from spark_kinesis_source.partitions import split


def make_chains(count: int) -> list[RangeGroup]:
    return [
        (ShardRange("orders", f"shardId-{place:012}", After(place), ShardEnd()),) for place in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "shards_per_task", "max_partitions", "sizes"),
    [
        (0, None, None, []),
        (0, None, 4, []),
        (1, None, None, [1]),
        (16, None, None, [16]),
        (17, None, None, [9, 8]),
        (16, 1, None, [1] * 16),
        (10, 4, None, [4, 3, 3]),
        (10, None, 3, [4, 3, 3]),
        (2, None, 3, [1, 1]),
    ],
)
def test_sizes(count: int, shards_per_task: int | None, max_partitions: int | None, sizes: list[int]) -> None:
    """Tasks get nearly equal numbers of chains: 16 at most unless the user says how many, or how many tasks there are."""
    groups = make_chains(count)
    parts = split(groups, shards_per_task, max_partitions)
    assert [len(part.groups) for part in parts] == sizes
    dealt = [group for part in parts for group in part.groups]
    assert sorted(dealt, key=lambda group: group[0].shard_id) == groups


def test_pickling() -> None:
    """A partition pickles with its ranges."""
    (part,) = split(make_chains(3), None, None)
    assert pickle.loads(pickle.dumps(part)).groups == part.groups  # noqa: S301 - our own bytes
