"""Streams as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import AwsError, Emulator, ManualClock


def test_an_on_demand_stream_starts_with_four_shards(client: Any, created: Any, refusal: Any) -> None:
    """An on-demand stream chooses its shards itself and refuses a ShardCount."""
    mode = {"StreamMode": "ON_DEMAND"}
    created(StreamName="elastic", StreamModeDetails=mode)
    assert len(client.list_shards(StreamName="elastic")["Shards"]) == 4
    refused = refusal(client.create_stream, StreamName="other", StreamModeDetails=mode, ShardCount=2)
    assert refused[0] == "InvalidArgumentException"


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


@pytest.mark.parametrize(
    ("whose", "arn"),
    [
        ({"region": "ap-northeast-1"}, "arn:aws:kinesis:ap-northeast-1:000000000000:stream/orders"),
        ({"access_key": "111122223333"}, "arn:aws:kinesis:us-east-1:111122223333:stream/orders"),
    ],
    ids=["region", "account"],
)
def test_regions_and_accounts_have_streams_of_their_own(
    emulator: Emulator,
    client: Any,
    new_client: Callable[..., Any],
    clock: ManualClock,
    whose: dict[str, str],
    arn: str,
) -> None:
    """A request uses the streams of its signature's region, and of the account that an access key of 12 digits is. An ARN finds any."""
    other = new_client(emulator.endpoint_url, **whose)
    assert other.list_streams()["StreamNames"] == []
    other.create_stream(StreamName="orders", ShardCount=2)
    clock.advance(1)
    assert other.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"] == arn
    assert len(client.list_shards(StreamARN=arn)["Shards"]) == 2
    assert len(client.list_shards(StreamName="orders")["Shards"]) == 1
    other.close()


def test_helpers_refuse_as_the_service_does(emulator: Emulator) -> None:
    """The methods of `Emulator` raise AwsError with AWS's code."""
    with pytest.raises(AwsError, match="ResourceInUseException: Stream orders"):
        emulator.create_stream("orders")
    with pytest.raises(AwsError, match="ResourceNotFoundException: Stream nowhere"):
        emulator.put("nowhere", b"")
