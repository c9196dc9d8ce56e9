"""On-demand streams whose records Kinesis distributes itself: `RecordDistributionStrategy`."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from kinesis_emulator import AwsError, Emulator, ManualClock

ON_DEMAND = {"StreamMode": "ON_DEMAND"}


@pytest.fixture
def arn(client: Any, created: Any) -> str:
    """Return the ARN of an on-demand stream `elastic` whose keys choose the shards."""
    created(StreamName="elastic", StreamModeDetails=ON_DEMAND)
    return str(summary(client)["StreamARN"])


def summary(client: Any, name: str = "elastic") -> dict[str, Any]:
    facts: dict[str, Any] = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    return facts


def shards_of(client: Any, count: int, **keys: str) -> Counter[str]:
    records = [{"Data": b"%d" % number, **keys} for number in range(count)]
    response = client.put_records(StreamName="elastic", Records=records)
    return Counter(result["ShardId"] for result in response["Records"])


def test_keys_choose_the_shard_by_default(client: Any, arn: str, refusal: Any) -> None:
    """An on-demand stream reports USER_PARTITION_KEY, puts a key's records into one shard, and requires a key."""
    assert arn
    assert summary(client)["RecordDistributionStrategy"] == "USER_PARTITION_KEY"
    assert len(shards_of(client, 20, PartitionKey="key")) == 1
    refused = refusal(client.put_records, StreamName="elastic", Records=[{"Data": b"x"}])
    assert refused[0] == "ValidationException"
    assert refusal(client.put_record, StreamName="elastic", Data=b"x")[0] == "ValidationException"


def test_kinesis_chooses_the_shard(client: Any, arn: str, read_all: Any) -> None:
    """With AUTO the shards take turns. Keys are ignored, may be absent, and are returned if they were given."""
    client.update_stream_record_distribution_strategy(StreamARN=arn, RecordDistributionStrategy="AUTO")
    assert summary(client)["RecordDistributionStrategy"] == "AUTO"
    assert set(shards_of(client, 20, PartitionKey="key", ExplicitHashKey="0").values()) == {5}
    assert set(shards_of(client, 20).values()) == {5}
    shard_id = client.put_record(StreamName="elastic", Data=b"last")["ShardId"]
    records = read_all(client, "elastic", shard_id)
    assert Counter(record.get("PartitionKey") for record in records) == {"key": 5, None: 6}


def test_the_strategy_is_switched_back(client: Any, arn: str, clock: ManualClock) -> None:
    """The change applies at once, to records that are put from then on."""
    for strategy in ("AUTO", "USER_PARTITION_KEY"):
        client.update_stream_record_distribution_strategy(StreamARN=arn, RecordDistributionStrategy=strategy)
        clock.advance(1)
    assert summary(client)["RecordDistributionStrategy"] == "USER_PARTITION_KEY"
    assert len(shards_of(client, 20, PartitionKey="key")) == 1


def test_a_stream_is_created_with_its_strategy(client: Any) -> None:
    """CreateStream accepts a strategy for an on-demand stream."""
    client.create_stream(StreamName="elastic", StreamModeDetails=ON_DEMAND, RecordDistributionStrategy="AUTO")
    assert summary(client)["RecordDistributionStrategy"] == "AUTO"


def test_provisioned_streams_have_no_strategy(emulator: Emulator, client: Any, refusal: Any) -> None:
    """They report no strategy, and no call can give them one."""
    facts = summary(client, "orders")
    assert "RecordDistributionStrategy" not in facts
    update = client.update_stream_record_distribution_strategy
    for strategy in ("AUTO", "USER_PARTITION_KEY"):
        refused = refusal(update, StreamARN=facts["StreamARN"], RecordDistributionStrategy=strategy)
        assert refused[0] == "InvalidArgumentException"
        create = {"StreamName": "new", "ShardCount": 1, "RecordDistributionStrategy": strategy}
        assert refusal(client.create_stream, **create)[0] == "InvalidArgumentException"
    assert not emulator.has_stream("new")
    with pytest.raises(AwsError, match="not in ON_DEMAND mode"):
        emulator.distribute("orders", "AUTO")


def test_updates_that_are_refused(client: Any, arn: str, refusal: Any) -> None:
    """An unknown strategy, an unknown stream, and a stream without its ARN are refused."""
    update = client.update_stream_record_distribution_strategy
    unknown = {"StreamARN": arn, "RecordDistributionStrategy": "RANDOM"}
    assert refusal(update, **unknown)[0] == "ValidationException"
    nowhere = {"StreamARN": arn.replace("elastic", "nowhere"), "RecordDistributionStrategy": "AUTO"}
    assert refusal(update, **nowhere)[0] == "ResourceNotFoundException"
    by_name = json.dumps({"StreamName": "elastic", "RecordDistributionStrategy": "AUTO"}).encode()
    client.meta.events.register(
        "before-call", lambda params, **_: params.update(body=by_name)
    )  # botocore requires an ARN
    assert refusal(update, StreamARN=arn, RecordDistributionStrategy="AUTO")[0] == "ValidationException"
