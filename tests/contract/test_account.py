"""What the core lists of an account and of a stream: names of streams, facts, and consumers."""

from __future__ import annotations

from typing import Any

from kinesis_core.aws import Connection, consumer_client, list_streams, stream_client
from kinesis_credentials import StaticKeys

KEYS = StaticKeys("000000000000", "secret")


def connect(endpoint_url: str, stream: str) -> Connection:
    return Connection.to_stream(stream, region="us-east-1", endpoint_url=endpoint_url, credentials=KEYS)


def test_streams_are_listed_across_pages(client: Any, endpoint_url: str, new_stream: Any) -> None:
    """All streams of the account and region are listed once and in order, also over several pages."""
    for _ in range(3):
        new_stream()
    names = client.list_streams(Limit=1000)["StreamNames"]
    account = Connection.to_account(region="us-east-1", endpoint_url=endpoint_url, credentials=KEYS)
    assert list_streams(account) == list_streams(account, streams_a_page=2) == sorted(names)


def test_a_summary_has_mode_and_encryption(client: Any, endpoint_url: str, new_stream: Any) -> None:
    """The summary says whether a stream is on-demand and encrypted."""
    stream = new_stream()
    connection = connect(endpoint_url, stream.name)
    api = stream_client(connection, connection.streams[0])
    assert (api.describe().is_on_demand, api.describe().is_encrypted) == (False, False)
    client.create_stream(StreamName=f"{stream.name}-od", StreamModeDetails={"StreamMode": "ON_DEMAND"})
    client.get_waiter("stream_exists").wait(StreamName=f"{stream.name}-od", WaiterConfig={"Delay": 1})
    connection = connect(endpoint_url, f"{stream.name}-od")
    assert stream_client(connection, connection.streams[0]).describe().is_on_demand


def test_consumers_are_listed(client: Any, endpoint_url: str, new_stream: Any) -> None:
    """All consumers of a stream are listed, and the summary has their number."""
    stream = new_stream()
    connection = connect(endpoint_url, stream.name)
    consumers = consumer_client(connection, connection.streams[0])
    assert consumers.list_consumers() == []
    for name in ("one", "two"):
        client.register_stream_consumer(StreamARN=stream.arn, ConsumerName=name)
    assert sorted(consumer.name for consumer in consumers.list_consumers()) == ["one", "two"]
