"""One Spark session for all scenarios, and queries that clean up after themselves."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from kinesis_emulator import Emulator, Limits, Settings
from support.python_log import PythonLog
from support.servers import FAN_OUT, unsubscribed
from support.spark_harness import Query, start_session
from support.streams import StreamUnderTest
from support.witness import kinesis_local as start_kinesis_local


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let py4j leave sockets to the garbage collector, as it does for each thread that calls Python back."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def make_query(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Query]]:
    """Return a function that makes queries; *name* tells the checkpoints of several apart."""
    made: list[Query] = []

    def make(options: dict[str, Any], name: str = "checkpoint", **more: Any) -> Query:
        made.append(Query(spark, tmp_path / name, options, **more))
        return made[-1]

    yield make
    for query in made:
        query.stop()


@pytest.fixture
def python_log(request: pytest.FixtureRequest) -> PythonLog:
    """What the Python processes of the session log from now on."""
    request.getfixturevalue("spark")  # which says where
    return PythonLog()


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as running:
        yield running


@pytest.fixture
def endpoint_url(request: pytest.FixtureRequest) -> str:
    """The server that the test's streams live on: ours, or the one that `witnessed` asks for."""
    server = getattr(request, "param", "emulator")
    if server == "kinesis-local":
        return str(request.getfixturevalue("kinesis_local"))
    return str(request.getfixturevalue("emulator").endpoint_url)


@pytest.fixture
def reads_by_fan_out(request: pytest.FixtureRequest) -> bool:
    """Whether all readers of the test subscribe, to each shard in each batch."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is None or callspec.params.get("endpoint_url") != "fan-out":
        return False
    # Else every second batch would wait until 5 s after the one before.
    request.getfixturevalue("emulator").settings.subscription_seat_s = 0
    return True


@pytest.fixture
def make_stream(
    request: pytest.FixtureRequest, endpoint_url: str, reads_by_fan_out: bool
) -> Iterator[Callable[..., StreamUnderTest]]:
    """
    Return a function that creates streams, with a name of their own also on a server that outlives the test.

    By fan-out, every shard with records must have been subscribed to in the end.
    """
    made: list[str] = []
    reading = FAN_OUT if reads_by_fan_out else {}

    def make(name: str | None = None, shards: int = 1) -> StreamUnderTest:
        made.append(name or f"orders-{uuid.uuid4().hex[:8]}")
        return StreamUnderTest(endpoint_url, made[-1], shards, reading=reading)

    yield make
    for name in made if reads_by_fan_out else ():
        assert not unsubscribed(request.getfixturevalue("emulator"), name)


@pytest.fixture
def stream(make_stream: Callable[..., StreamUnderTest]) -> StreamUnderTest:
    """A stream of one shard."""
    return make_stream()


@pytest.fixture
def put_backlog(emulator: Emulator) -> Callable[[str, int], list[bytes]]:
    """
    Return a function that fills a stream of one shard and returns the payloads in order.

    The records arrive an hour ago, one each millisecond: a shard takes in no more than 1,000 a second.
    """

    def put_backlog(stream: str, count: int) -> list[bytes]:
        started_s = time.time() - 3600
        for number in range(count):
            emulator.put(stream, str(number), arrived_s=started_s + number / 1000)
        return [str(number).encode() for number in range(count)]

    return put_backlog


@pytest.fixture(scope="session")
def kinesis_local() -> Iterator[str]:
    with start_kinesis_local() as endpoint_url:
        yield endpoint_url
