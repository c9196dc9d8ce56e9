"""
The same tests run against three servers: our emulator, kinesis-local and moto. In a day on AWS they run against AWS: see tools/aws.

Where a witness is known to be wrong, the test says so with `@pytest.mark.deviates(server, reason)`. It still runs there
and must fail, so that a repaired witness is noticed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from kinesis_credentials import StaticKeys
from kinesis_emulator import EmulatorProcess
from support.servers import KINESIS_LOCAL, MOTO
from support.streams import is_usable
from support.waiting import PATIENCE_S, wait_until
from support.witness import kinesis_local, moto
from tools.aws.contract_run import AWS, ContractRun

_names = itertools.count()
"""For names in the order in which they are made, which is the one that moto lists them in."""
_RUN = ContractRun.of_this_process()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "deviates(server, reason): this server is known to behave otherwise")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("deviates"):
            server, reason = mark.args
            if _server_of(item) == server:
                item.add_marker(pytest.mark.xfail(reason=f"{server} {reason}", strict=True))


def _server_of(item: pytest.Item) -> str | None:
    parameters = getattr(item, "callspec", None)
    return None if parameters is None else parameters.params.get("endpoint_url")


@pytest.fixture(scope="session", params=["emulator", KINESIS_LOCAL, MOTO] if _RUN is None else [AWS])
def endpoint_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Yield the endpoint of each server in turn. Without node kinesis-local is skipped with the reason."""
    match request.param:
        case "aws":
            assert _RUN is not None
            yield _RUN.target.kinesis_url
        case "emulator":
            with EmulatorProcess() as emulator:
                yield emulator.endpoint_url
        case "kinesis-local":
            with kinesis_local() as url:
                yield url
        case _:
            with moto() as url:
                yield url


@pytest.fixture(scope="session")
def server(endpoint_url: str | None) -> dict[str, Any]:
    """Return the arguments with which the core reaches the server."""
    if _RUN is not None:
        return _RUN.target.connection()
    return {
        "region": "us-east-1",
        "endpoint_url": endpoint_url,
        "credentials": StaticKeys("000000000000", "secret"),
    }


@pytest.fixture(scope="session")
def client(endpoint_url: str | None) -> Iterator[Any]:
    """Yield a plain boto3 client without retries, so that every refusal is visible. Only AWS's throttles are retried."""
    if _RUN is not None:
        yield _RUN.client()
        return
    config = Config(retries={"total_max_attempts": 1}, read_timeout=PATIENCE_S, max_pool_connections=10)
    session = boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret")
    made = session.client("kinesis", endpoint_url=endpoint_url, region_name="us-east-1", config=config)
    yield made
    made.close()


@dataclass
class StreamOf:
    """A stream for one test."""

    client: Any
    name: str
    arn: str = field(init=False)

    def __post_init__(self) -> None:
        summary = self.client.describe_stream_summary(StreamName=self.name)
        self.arn = summary["StreamDescriptionSummary"]["StreamARN"]

    def put(self, data: bytes | str, hash_key: int = 0) -> dict[str, Any]:
        """Put a record by explicit hash key, and return PutRecord's response."""
        response: dict[str, Any] = self.client.put_record(
            StreamName=self.name, Data=data, PartitionKey="key", ExplicitHashKey=str(hash_key)
        )
        return response

    def shards(self, **params: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.list_shards(StreamName=self.name, **params)["Shards"]
        return sorted(found, key=lambda shard: str(shard["ShardId"]))

    def iterator(self, shard: int = 0, kind: str = "TRIM_HORIZON", **params: Any) -> str:
        response = self.client.get_shard_iterator(
            StreamName=self.name, ShardId=f"shardId-{shard:012d}", ShardIteratorType=kind, **params
        )
        return str(response["ShardIterator"])

    def read(self, shard: int = 0, kind: str = "TRIM_HORIZON", **params: Any) -> list[dict[str, Any]]:
        """Return the records from a start to the tip, or to the end of the shard."""
        iterator: str | None = self.iterator(shard, kind, **params)
        records: list[dict[str, Any]] = []
        while iterator:
            page = self.client.get_records(ShardIterator=iterator)
            records += page["Records"]
            if not page["Records"] and page["MillisBehindLatest"] == 0:
                break
            iterator = page.get("NextShardIterator")
        return records

    def data(self, shard: int = 0, kind: str = "TRIM_HORIZON", **params: Any) -> list[bytes]:
        return [record["Data"] for record in self.read(shard, kind, **params)]

    def split(self, shard: int = 0, at: int = 2**127) -> None:
        self.client.split_shard(
            StreamName=self.name, ShardToSplit=f"shardId-{shard:012d}", NewStartingHashKey=str(at)
        )
        self.wait_until_active()

    def merge(self, shard: int, adjacent: int) -> None:
        self.client.merge_shards(
            StreamName=self.name,
            ShardToMerge=f"shardId-{shard:012d}",
            AdjacentShardToMerge=f"shardId-{adjacent:012d}",
        )
        self.wait_until_active()

    def wait_until_active(self) -> None:
        wait_until_active(self.client, self.name)


def wait_until_active(client: Any, name: str) -> None:
    if _RUN is not None:
        _RUN.wait_until_usable(client, name)
        return
    waiter = client.get_waiter("stream_exists")
    waiter.wait(StreamName=name, WaiterConfig={"Delay": 0.02, "MaxAttempts": 500})
    wait_until(lambda: is_usable(client, name))


@pytest.fixture(scope="session")
def nowhere() -> str:
    """Return the name of a stream that does not exist."""
    return "nowhere" if _RUN is None else _RUN.name("nowhere")


@pytest.fixture
def new_stream(client: Any) -> Callable[..., StreamOf]:
    """Return a function that creates a stream with a number of shards."""

    def create(shards: int = 1) -> StreamOf:
        name = f"stream-{next(_names):04}"
        name = name if _RUN is None else _RUN.name(name)
        client.create_stream(StreamName=name, ShardCount=shards)
        wait_until_active(client, name)
        return StreamOf(client, name)

    return create


@pytest.fixture
def stream(new_stream: Callable[..., StreamOf]) -> StreamOf:
    return new_stream()


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Return a function that makes a call and returns the code of its error."""

    def call(function: Callable[..., Any], **params: Any) -> str:
        with pytest.raises(ClientError) as caught:
            function(**params)
        return str(caught.value.response["Error"]["Code"])

    return call
