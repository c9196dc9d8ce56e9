"""ListShards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

Ids = Callable[..., list[int]]
START_S = 1_700_000_000.0


@pytest.fixture
def ids(client: Any) -> Ids:
    """Return a function that lists the stream `orders` and returns the shards' indexes."""

    def listed(kind: str | None = None, **details: Any) -> list[int]:
        given = {} if kind is None else {"ShardFilter": {"Type": kind, **details}}
        shards = client.list_shards(StreamName="orders", **given)["Shards"]
        return [int(shard["ShardId"][-12:]) for shard in shards]

    return listed


def test_a_token_expires_after_300_seconds(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Any
) -> None:
    """A NextToken is valid for 300 seconds. The first page may name the time at which its stream was created."""
    emulator.scale("orders", 2)
    created = {"StreamName": "orders", "StreamCreationTimestamp": START_S}
    token = client.list_shards(**created, MaxResults=1)["NextToken"]
    clock.advance(300)
    client.list_shards(NextToken=token)
    clock.advance(0.001)
    assert refusal(client.list_shards, NextToken=token)[0] == "ExpiredNextTokenException"
    assert refusal(client.list_shards, NextToken="made up")[0] == "InvalidArgumentException"


def test_a_page_has_1000_shards_at_most(emulator: Emulator, client: Any) -> None:
    """A page has 1,000 shards at most, also with a higher MaxResults."""
    emulator.create_stream("wide", shards=1500)
    page = client.list_shards(StreamName="wide")
    assert len(page["Shards"]) == 1000
    assert len(client.list_shards(NextToken=page["NextToken"])["Shards"]) == 500
    assert len(client.list_shards(StreamName="wide", MaxResults=10_000)["Shards"]) == 1000


def test_filters_by_time(emulator: Emulator, ids: Ids, clock: ManualClock) -> None:
    """The five filters by time return the shards of that time, or all since."""
    clock.advance(100)
    emulator.split("orders", "shardId-000000000000")
    clock.advance(100)
    emulator.merge("orders", "shardId-000000000001", "shardId-000000000002")
    assert ids() == ids("FROM_TRIM_HORIZON") == [0, 1, 2, 3]
    assert ids("AT_LATEST") == [3]
    assert ids("AT_TRIM_HORIZON") == [0]
    assert ids("AT_TIMESTAMP", Timestamp=START_S + 50) == [0]
    assert ids("AT_TIMESTAMP", Timestamp=START_S + 150) == [1, 2]
    assert ids("FROM_TIMESTAMP", Timestamp=START_S + 150) == [1, 2, 3]
    assert ids("FROM_TIMESTAMP", Timestamp=START_S - 1e6) == [0, 1, 2, 3]


def test_closed_shards_past_retention_are_not_listed(
    emulator: Emulator, ids: Ids, clock: ManualClock
) -> None:
    """A closed shard disappears from ListShards when its closing time is older than the retention."""
    emulator.split("orders", "shardId-000000000000")
    clock.advance(24 * 3600)
    assert ids() == [0, 1, 2]
    clock.advance(0.001)
    assert ids() == [1, 2]
    assert ids("AT_TRIM_HORIZON") == [1, 2]
