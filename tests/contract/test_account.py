"""What the core lists of an account and of a stream: names of streams, facts, and consumers."""

from __future__ import annotations

from typing import Any

from kinesis_core.aws import Connection, consumer_client, list_streams, stream_client


def test_streams_are_listed_across_pages(client: Any, server: dict[str, Any], new_stream: Any) -> None:
    """All streams of the account and region are listed once and in order, also over several pages."""
    for _ in range(3):
        new_stream()
    names = client.list_streams(Limit=1000)["StreamNames"]
    account = Connection.to_account(**server)
    assert list_streams(account) == list_streams(account, streams_a_page=2) == sorted(names)


def test_a_summary_has_mode_and_encryption(client: Any, server: dict[str, Any], new_stream: Any) -> None:
    """The summary says whether a stream is on-demand and encrypted."""
    stream = new_stream()
    connection = Connection.to_stream(stream.name, **server)
    api = stream_client(connection, connection.streams[0])
    assert (api.describe().is_on_demand, api.describe().is_encrypted) == (False, False)
    client.create_stream(StreamName=f"{stream.name}-od", StreamModeDetails={"StreamMode": "ON_DEMAND"})
    client.get_waiter("stream_exists").wait(StreamName=f"{stream.name}-od", WaiterConfig={"Delay": 1})
    connection = Connection.to_stream(f"{stream.name}-od", **server)
    assert stream_client(connection, connection.streams[0]).describe().is_on_demand


def test_consumers_are_listed(client: Any, server: dict[str, Any], new_stream: Any) -> None:
    """All consumers of a stream are listed, and the summary has their number."""
    stream = new_stream()
    connection = Connection.to_stream(stream.name, **server)
    consumers = consumer_client(connection, connection.streams[0])
    assert consumers.list_consumers() == []
    for name in ("one", "two"):
        client.register_stream_consumer(StreamARN=stream.arn, ConsumerName=name)
    assert sorted(consumer.name for consumer in consumers.list_consumers()) == ["one", "two"]
