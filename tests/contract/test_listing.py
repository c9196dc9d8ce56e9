"""ListShards: pages and filters."""

from __future__ import annotations

from typing import Any

import pytest


def shard_ids(shards: list[dict[str, Any]]) -> list[int]:
    return [int(shard["ShardId"][-12:]) for shard in shards]


@pytest.fixture
def resharded(stream: Any) -> Any:
    """Return a stream whose shard 0 was split into 1 and 2, which were merged into 3."""
    stream.split()
    stream.merge(1, 2)
    return stream


@pytest.mark.deviates("moto", "wants StreamName beside NextToken")
def test_a_token_continues_alone(client: Any, new_stream: Any) -> None:
    """The next page needs NextToken as the only parameter."""
    stream = new_stream(3)
    first = client.list_shards(StreamName=stream.name, MaxResults=2)
    second = client.list_shards(NextToken=first["NextToken"], MaxResults=2)
    assert shard_ids(first["Shards"]) + shard_ids(second["Shards"]) == [0, 1, 2]
    assert not second.get("NextToken")


@pytest.mark.deviates("moto", "wants both")
def test_a_token_beside_a_name_is_refused(client: Any, new_stream: Any, refusal: Any) -> None:
    """NextToken and StreamName together are an InvalidArgumentException."""
    stream = new_stream(3)
    token = client.list_shards(StreamName=stream.name, MaxResults=2)["NextToken"]
    code = refusal(client.list_shards, StreamName=stream.name, NextToken=token)
    assert code == "InvalidArgumentException"


@pytest.mark.deviates("moto", "looks for a stream first")
def test_a_made_up_token_is_refused(client: Any, refusal: Any) -> None:
    """A text that is not a token is an InvalidArgumentException."""
    assert refusal(client.list_shards, NextToken="nonsense") == "InvalidArgumentException"


@pytest.mark.deviates("moto", "ignores filters, and refuses the token alone")
def test_a_token_carries_its_filter(client: Any, resharded: Any) -> None:
    """Later pages have the filter of the first one."""
    resharded.split(3)
    page = client.list_shards(StreamName=resharded.name, MaxResults=1, ShardFilter={"Type": "AT_LATEST"})
    rest = client.list_shards(NextToken=page["NextToken"])
    assert shard_ids(page["Shards"] + rest["Shards"]) == [4, 5]


def test_closed_shards_are_listed(resharded: Any) -> None:
    """Without a filter every shard within retention is listed, closed or open."""
    assert shard_ids(resharded.shards()) == [0, 1, 2, 3]


@pytest.mark.deviates("moto", "ignores filters")
def test_only_open_shards_at_latest(resharded: Any) -> None:
    """AT_LATEST lists the open shards."""
    assert shard_ids(resharded.shards(ShardFilter={"Type": "AT_LATEST"})) == [3]


def test_everything_from_the_horizon(resharded: Any) -> None:
    """FROM_TRIM_HORIZON lists all shards within retention."""
    assert shard_ids(resharded.shards(ShardFilter={"Type": "FROM_TRIM_HORIZON"})) == [0, 1, 2, 3]


@pytest.mark.deviates("kinesis-local", "lists every shard")
@pytest.mark.deviates("moto", "ignores filters")
def test_the_first_shards_at_the_horizon(resharded: Any) -> None:
    """AT_TRIM_HORIZON lists the shards that were open then: a new stream's first ones."""
    assert shard_ids(resharded.shards(ShardFilter={"Type": "AT_TRIM_HORIZON"})) == [0]


@pytest.mark.deviates("moto", "ignores filters")
def test_shards_after_an_id(resharded: Any) -> None:
    """AFTER_SHARD_ID and ExclusiveStartShardId list the shards after the given one."""
    after = {"Type": "AFTER_SHARD_ID", "ShardId": "shardId-000000000001"}
    assert shard_ids(resharded.shards(ShardFilter=after)) == [2, 3]
    assert shard_ids(resharded.shards(ExclusiveStartShardId="shardId-000000000001")) == [2, 3]
