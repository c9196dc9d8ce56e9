"""Creating, describing, listing and deleting streams."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest


def test_a_summary_shows_what_was_created(client: Any, new_stream: Any) -> None:
    """DescribeStreamSummary shows name, ARN, status, retention, creation time and open shards."""
    stream = new_stream(3)
    summary = client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]
    assert summary["StreamName"] == stream.name
    assert summary["StreamARN"].endswith(f":stream/{stream.name}")
    assert (summary["StreamStatus"], summary["RetentionPeriodHours"], summary["OpenShardCount"]) == (
        "ACTIVE",
        24,
        3,
    )
    age = datetime.now(timezone.utc) - summary["StreamCreationTimestamp"]
    assert timedelta(seconds=-2) < age < timedelta(minutes=5)


@pytest.mark.deviates("kinesis-local", "rounds the middle of the hash keys down")
def test_new_shards_share_the_hash_keys(new_stream: Any) -> None:
    """A new stream's shards cover all hash keys evenly; they have no parents and are open."""
    shards = new_stream(2).shards()
    middle = 2**127
    assert [shard["HashKeyRange"] for shard in shards] == [
        {"StartingHashKey": "0", "EndingHashKey": str(middle - 1)},
        {"StartingHashKey": str(middle), "EndingHashKey": str(2**128 - 1)},
    ]
    assert all("ParentShardId" not in shard for shard in shards)
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in shards)


@pytest.mark.parametrize(
    "call", ["describe_stream", "describe_stream_summary", "list_shards", "delete_stream"]
)
def test_an_unknown_stream_is_not_found(client: Any, refusal: Any, nowhere: str, call: str) -> None:
    """A stream that does not exist is a ResourceNotFoundException."""
    assert refusal(getattr(client, call), StreamName=nowhere) == "ResourceNotFoundException"


def test_a_name_is_given_once(client: Any, stream: Any, refusal: Any) -> None:
    """A second stream of the same name is a ResourceInUseException."""
    assert refusal(client.create_stream, StreamName=stream.name, ShardCount=1) == "ResourceInUseException"


def test_streams_are_found_by_arn(client: Any, stream: Any) -> None:
    """StreamARN replaces StreamName in every call of a reader and a writer."""
    put = client.put_record(StreamARN=stream.arn, Data=b"x", PartitionKey="k")
    assert len(client.list_shards(StreamARN=stream.arn)["Shards"]) == 1
    iterator = client.get_shard_iterator(
        StreamARN=stream.arn, ShardId=put["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    (record,) = client.get_records(ShardIterator=iterator, StreamARN=stream.arn)["Records"]
    assert record["SequenceNumber"] == put["SequenceNumber"]


def test_names_are_listed_in_order_and_in_pages(client: Any, new_stream: Any) -> None:
    """ListStreams returns names in order and says whether there are more."""
    names = sorted(new_stream().name for _ in range(3))
    first = client.list_streams(Limit=1)
    assert (len(first["StreamNames"]), first["HasMoreStreams"]) == (1, True)
    every = client.list_streams(Limit=1000)["StreamNames"]
    assert every == sorted(every)
    assert set(names) <= set(every)
    after = client.list_streams(Limit=1, ExclusiveStartStreamName=every[0])["StreamNames"]
    assert after == every[1:2]


@pytest.mark.deviates("moto", "ignores ExclusiveStartShardId")
def test_describe_stream_pages_through_the_shards(client: Any, new_stream: Any) -> None:
    """DescribeStream continues after ExclusiveStartShardId."""
    stream = new_stream(3)
    first = client.describe_stream(StreamName=stream.name, Limit=2)["StreamDescription"]
    assert (len(first["Shards"]), first["HasMoreShards"]) == (2, True)
    rest = client.describe_stream(
        StreamName=stream.name, ExclusiveStartShardId=first["Shards"][-1]["ShardId"]
    )["StreamDescription"]
    assert (len(rest["Shards"]), rest["HasMoreShards"]) == (1, False)


def test_retention_moves_between_24_hours_and_a_year(client: Any, stream: Any, refusal: Any) -> None:
    """Each call changes the retention in its own direction only. Less than 24 hours are refused."""
    client.increase_stream_retention_period(StreamName=stream.name, RetentionPeriodHours=48)
    summary = client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]
    assert summary["RetentionPeriodHours"] == 48
    stream.wait_until_active()
    decrease = client.decrease_stream_retention_period
    assert refusal(decrease, StreamName=stream.name, RetentionPeriodHours=72) == "InvalidArgumentException"
    assert refusal(decrease, StreamName=stream.name, RetentionPeriodHours=20) == "InvalidArgumentException"
    decrease(StreamName=stream.name, RetentionPeriodHours=24)
