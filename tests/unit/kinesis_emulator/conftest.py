"""An emulator with a manual clock, and unpatched boto3 clients for it."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from kinesis_emulator import Emulator, Limits, ManualClock, Settings
from support.waiting import PATIENCE_S

Client = Any
STREAM = "orders"
SHARD = "shardId-000000000000"
JSON = "application/x-amz-json-1.1"


@pytest.fixture(scope="session")
def new_client() -> Callable[..., Client]:
    """Return a function that creates a boto3 client without retries."""
    session = boto3.Session()

    def make(
        endpoint_url: str,
        region: str = "us-east-1",
        access_key: str = "key",
        attempts: int = 1,
    ) -> Client:
        config = Config(
            retries={"total_max_attempts": attempts}, read_timeout=PATIENCE_S, max_pool_connections=20
        )
        return session.client(
            "kinesis",
            endpoint_url=endpoint_url,
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key="secret",
            config=config,
        )

    return make


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000.0)


@pytest.fixture
def emulator(clock: ManualClock) -> Iterator[Emulator]:
    """Yield an emulator without rate limits that has a stream `orders` of one shard."""
    with Emulator(settings=Settings(limits=Limits.unlimited()), clock=clock) as running:
        running.create_stream(STREAM)
        yield running


@pytest.fixture
def client(emulator: Emulator, new_client: Callable[..., Client]) -> Iterator[Client]:
    made = new_client(emulator.endpoint_url)
    yield made
    made.close()


@pytest.fixture
def created(client: Client, clock: ManualClock) -> Callable[..., None]:
    """Return a function that creates a stream over HTTP, and lets it become ACTIVE."""

    def create(**params: Any) -> None:
        client.create_stream(**params)
        clock.advance(1)

    return create


@pytest.fixture
def connection(emulator: Emulator) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection of a client that does not know AWS."""
    made = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=PATIENCE_S)
    yield made
    made.close()


@pytest.fixture
def post(connection: http.client.HTTPConnection) -> Callable[..., tuple[http.client.HTTPResponse, bytes]]:
    """Return a function that makes a call, and returns the response and its body."""

    def call(
        action: str, body: bytes = b"{}", content_type: str = JSON, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        target = action if "." in action else f"Kinesis_20131202.{action}"
        connection.request(
            "POST", "/", body, {"X-Amz-Target": target, "Content-Type": content_type, **headers}
        )
        response = connection.getresponse()
        return response, response.read()

    return call


@pytest.fixture
def refusal() -> Callable[..., tuple[str, str]]:
    """Return a function that makes a call and returns the code and message of its error."""

    def call(function: Callable[..., Any], **params: Any) -> tuple[str, str]:
        with pytest.raises(ClientError) as caught:
            function(**params)
        error = caught.value.response["Error"]
        return error["Code"], error["Message"]

    return call


@pytest.fixture
def iterator_of(client: Client) -> Callable[..., str]:
    """Return a function that gets an iterator of the stream `orders`."""

    def get(kind: str = "TRIM_HORIZON", shard_id: str = SHARD, **params: Any) -> str:
        return str(
            client.get_shard_iterator(StreamName=STREAM, ShardId=shard_id, ShardIteratorType=kind, **params)[
                "ShardIterator"
            ]
        )

    return get


@pytest.fixture
def subscribe(emulator: Emulator, client: Client) -> Iterator[Callable[..., Iterator[dict[str, Any]]]]:
    """Return a function that subscribes the consumer `one` to a shard, and returns its events. All connections are closed at the end."""
    arn = emulator.register_consumer(STREAM, "one")
    streams: list[Any] = []

    def call(kind: str = "TRIM_HORIZON", shard_id: str = SHARD, **start: Any) -> Iterator[dict[str, Any]]:
        response = client.subscribe_to_shard(
            ConsumerARN=arn, ShardId=shard_id, StartingPosition={"Type": kind, **start}
        )
        streams.append(response["EventStream"])
        return (event["SubscribeToShardEvent"] for event in response["EventStream"])

    yield call
    for stream in streams:
        stream.close()


@pytest.fixture(scope="session")
def read_all() -> Callable[..., list[dict[str, Any]]]:
    """Return a function that reads a shard of any stream from its oldest record to its tip."""

    def read(client: Client, stream: str = STREAM, shard_id: str = SHARD) -> list[dict[str, Any]]:
        start = {"StreamName": stream, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        page = {"NextShardIterator": client.get_shard_iterator(**start)["ShardIterator"]}
        found: list[dict[str, Any]] = []
        while page.get("MillisBehindLatest") != 0:
            page = client.get_records(ShardIterator=page["NextShardIterator"])
            found += page["Records"]
        return found

    return read


@pytest.fixture
def read_from(client: Client, iterator_of: Callable[..., str]) -> Callable[..., list[bytes]]:
    """Return a function that returns the data of one page of the stream `orders`."""

    def read(kind: str = "TRIM_HORIZON", shard_id: str = SHARD, **params: Any) -> list[bytes]:
        page = client.get_records(ShardIterator=iterator_of(kind, shard_id, **params))
        return [record["Data"] for record in page["Records"]]

    return read
