"""One Spark session for all scenarios, and queries that are stopped after each test."""

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
    """Ignore sockets that py4j leaves to the garbage collector: one per thread that calls Python back."""
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
    """Return a function that makes queries. *name* distinguishes the checkpoints of several queries."""
    made: list[Query] = []

    def make(options: dict[str, Any], name: str = "checkpoint", **more: Any) -> Query:
        made.append(Query(spark, tmp_path / name, options, **more))
        return made[-1]

    yield make
    for query in made:
        query.stop()


@pytest.fixture
def python_log(request: pytest.FixtureRequest) -> PythonLog:
    """The log lines of the session's Python processes from now on."""
    request.getfixturevalue("spark")  # the session sets the path of the log
    return PythonLog()


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as running:
        yield running


@pytest.fixture
def endpoint_url(request: pytest.FixtureRequest) -> str:
    """The server of the test's streams: the emulator, or the one that `witnessed` names."""
    server = getattr(request, "param", "emulator")
    if server == "kinesis-local":
        return str(request.getfixturevalue("kinesis_local"))
    return str(request.getfixturevalue("emulator").endpoint_url)


@pytest.fixture
def reads_by_fan_out(request: pytest.FixtureRequest) -> bool:
    """Whether the test reads each shard in each batch by a subscription."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is None or callspec.params.get("endpoint_url") != "fan-out":
        return False
    # Otherwise every second batch would wait until 5 s after the previous subscription.
    request.getfixturevalue("emulator").settings.resubscribe_after_s = 0
    return True


@pytest.fixture
def make_stream(
    request: pytest.FixtureRequest, endpoint_url: str, reads_by_fan_out: bool
) -> Iterator[Callable[..., StreamUnderTest]]:
    """
    Return a function that creates streams, with unique names because a server may outlive the test.

    A test by fan-out fails if a shard with records was never subscribed to.
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

    The records arrived an hour ago, one per millisecond: a shard accepts at most 1,000 per second.
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
