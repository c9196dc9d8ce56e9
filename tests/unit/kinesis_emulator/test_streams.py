"""Streams as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from kinesis_emulator import AwsError, Emulator, ManualClock

NOT_FOUND = ("ResourceNotFoundException", "Stream nowhere under account 000000000000 not found.")


def test_a_created_stream_is_described(client: Any) -> None:
    """CreateStream creates an active stream with the requested settings in its summary."""
    client.create_stream(StreamName="new", ShardCount=3)
    summary = client.describe_stream_summary(StreamName="new")["StreamDescriptionSummary"]
    assert summary["StreamARN"] == "arn:aws:kinesis:us-east-1:000000000000:stream/new"
    assert summary["StreamStatus"] == "ACTIVE"
    assert summary["StreamModeDetails"] == {"StreamMode": "PROVISIONED"}
    assert summary["OpenShardCount"] == 3
    assert summary["RetentionPeriodHours"] == 24
    assert summary["StreamCreationTimestamp"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)


def test_an_on_demand_stream_starts_with_four_shards(client: Any, refusal: Any) -> None:
    """An on-demand stream chooses its shards itself and refuses a ShardCount."""
    mode = {"StreamMode": "ON_DEMAND"}
    client.create_stream(StreamName="elastic", StreamModeDetails=mode)
    assert len(client.list_shards(StreamName="elastic")["Shards"]) == 4
    refused = refusal(client.create_stream, StreamName="other", StreamModeDetails=mode, ShardCount=2)
    assert refused[0] == "InvalidArgumentException"


def test_a_name_is_given_once(client: Any, refusal: Any) -> None:
    """Creating a stream that exists is refused in AWS's words."""
    assert refusal(client.create_stream, StreamName="orders", ShardCount=1) == (
        "ResourceInUseException",
        "Stream orders under account 000000000000 already exists.",
    )


@pytest.mark.parametrize("params", [{"StreamName": "a b", "ShardCount": 1}, {"StreamName": "x"}])
def test_malformed_streams_are_refused(client: Any, refusal: Any, params: dict[str, Any]) -> None:
    """A name outside AWS's alphabet, or a provisioned stream without shards, is a ValidationException."""
    assert refusal(client.create_stream, **params)[0] == "ValidationException"


def test_a_deleted_stream_is_gone(client: Any, refusal: Any) -> None:
    """After DeleteStream every call on the stream is a ResourceNotFoundException."""
    client.create_stream(StreamName="nowhere", ShardCount=1)
    client.delete_stream(StreamName="nowhere")
    for call in (client.describe_stream, client.describe_stream_summary, client.list_shards):
        assert refusal(call, StreamName="nowhere") == NOT_FOUND
    assert refusal(client.put_record, StreamName="nowhere", Data=b"", PartitionKey="k") == NOT_FOUND


def test_streams_are_listed_in_pages(client: Any) -> None:
    """ListStreams returns the names in order, by NextToken or by ExclusiveStartStreamName."""
    for name in ("c", "a", "b"):
        client.create_stream(StreamName=name, ShardCount=1)
    first = client.list_streams(Limit=2)
    assert (first["StreamNames"], first["HasMoreStreams"]) == (["a", "b"], True)
    second = client.list_streams(NextToken=first["NextToken"])
    assert (second["StreamNames"], second["HasMoreStreams"]) == (["c", "orders"], False)
    assert client.list_streams(ExclusiveStartStreamName="b")["StreamNames"] == ["c", "orders"]
    assert first["StreamSummaries"][0]["StreamARN"].endswith(":stream/a")


def test_regions_do_not_see_each_others_streams(
    emulator: Emulator, client: Any, new_client: Callable[..., Any]
) -> None:
    """A request uses the streams of the region that it is signed for."""
    tokyo = new_client(emulator.endpoint_url, "ap-northeast-1")
    assert tokyo.list_streams()["StreamNames"] == []
    tokyo.create_stream(StreamName="orders", ShardCount=2)
    arn = tokyo.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    assert arn == "arn:aws:kinesis:ap-northeast-1:000000000000:stream/orders"
    assert len(client.list_shards(StreamName="orders")["Shards"]) == 1
    tokyo.close()


def test_an_access_key_of_12_digits_is_an_account(
    emulator: Emulator, client: Any, new_client: Callable[..., Any]
) -> None:
    """Each account has its own streams. Streams of another account are reached by ARN."""
    other = new_client(emulator.endpoint_url, access_key="111122223333")
    assert other.list_streams()["StreamNames"] == []
    other.create_stream(StreamName="orders", ShardCount=2)
    arn = other.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    assert arn == "arn:aws:kinesis:us-east-1:111122223333:stream/orders"
    assert len(client.list_shards(StreamARN=arn)["Shards"]) == 2
    assert len(client.list_shards(StreamName="orders")["Shards"]) == 1
    other.close()


def test_a_stream_is_found_by_arn(emulator: Emulator, client: Any, refusal: Any) -> None:
    """Every call accepts StreamARN instead of StreamName. A stream of another account does not exist."""
    arn = emulator.create_stream("payments")
    client.put_record(StreamARN=arn, Data=b"x", PartitionKey="k")
    iterator = client.get_shard_iterator(
        StreamARN=arn, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    assert len(client.get_records(StreamARN=arn, ShardIterator=iterator)["Records"]) == 1
    other = arn.replace("000000000000", "111111111111")
    assert refusal(client.describe_stream_summary, StreamARN=other) == (
        "ResourceNotFoundException",
        "Stream payments under account 111111111111 not found.",
    )


def test_name_and_arn_have_to_agree(emulator: Emulator, client: Any, refusal: Any) -> None:
    """A call that names two streams, or no stream, is refused."""
    arn = emulator.create_stream("payments")
    assert refusal(client.list_shards, StreamName="orders", StreamARN=arn)[0] == "InvalidArgumentException"
    assert refusal(client.list_shards)[0] == "InvalidArgumentException"


def test_an_iterator_belongs_to_its_stream(
    emulator: Emulator, client: Any, iterator_of: Any, refusal: Any
) -> None:
    """GetRecords refuses the ARN of another stream than the iterator's."""
    arn = emulator.create_stream("payments")
    code, _ = refusal(client.get_records, ShardIterator=iterator_of(), StreamARN=arn)
    assert code == "InvalidArgumentException"


def test_retention_is_raised_and_lowered_within_bounds(client: Any, refusal: Any) -> None:
    """The retention is 24 to 8,760 hours. Each call changes it in its own direction only."""
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    refused = [
        (client.increase_stream_retention_period, 24, "can not be shorter than existing"),
        (client.decrease_stream_retention_period, 72, "can not be longer than existing"),
        (client.decrease_stream_retention_period, 23, "Minimum allowed retention period is 24 hours"),
        (client.increase_stream_retention_period, 8761, "Maximum allowed retention period is 8760 hours"),
    ]
    for call, hours, message in refused:
        code, text = refusal(call, StreamName="orders", RetentionPeriodHours=hours)
        assert code == "InvalidArgumentException"
        assert message in text
    client.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    summary = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    assert summary["RetentionPeriodHours"] == 24


def test_helpers_refuse_as_the_service_does(emulator: Emulator) -> None:
    """The methods of `Emulator` raise AwsError with AWS's code."""
    with pytest.raises(AwsError, match="ResourceInUseException: Stream orders"):
        emulator.create_stream("orders")
    with pytest.raises(AwsError, match="ResourceNotFoundException: Stream nowhere"):
        emulator.put("nowhere", b"")


def test_a_recreated_stream_has_a_later_creation_time(
    emulator: Emulator, client: Any, clock: ManualClock
) -> None:
    """A recreated stream has a later creation time."""
    before = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    emulator.delete_stream("orders")
    clock.advance(60)
    emulator.create_stream("orders")
    after = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    assert after["StreamCreationTimestamp"] > before["StreamCreationTimestamp"]
