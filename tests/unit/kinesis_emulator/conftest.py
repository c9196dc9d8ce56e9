"""An emulator with a manual clock, and unpatched boto3 clients for it."""

from __future__ import annotations

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


@pytest.fixture(scope="session")
def new_client() -> Callable[..., Client]:
    """Return a function that creates a boto3 client without retries."""
    session = boto3.Session()

    def make(endpoint_url: str, region: str = "us-east-1", access_key: str = "key", **more: Any) -> Client:
        config = Config(retries={"total_max_attempts": 1}, read_timeout=PATIENCE_S, max_pool_connections=20)
        return session.client(
            "kinesis",
            endpoint_url=endpoint_url,
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key="secret",
            config=config,
            **more,
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
def read_from(client: Client, iterator_of: Callable[..., str]) -> Callable[..., list[bytes]]:
    """Return a function that returns the data of one page of the stream `orders`."""

    def read(kind: str = "TRIM_HORIZON", shard_id: str = SHARD, **params: Any) -> list[bytes]:
        page = client.get_records(ShardIterator=iterator_of(kind, shard_id, **params))
        return [record["Data"] for record in page["Records"]]

    return read
