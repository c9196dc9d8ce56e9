"""Spark Connect: the server has our packages and Java, the client has only Spark's client."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark")

from kinesis_emulator import Emulator, Limits, Settings
from support.connect import Server, connect_server
from support.streams import StreamUnderTest
from support.waiting import wait_until

pytestmark = pytest.mark.connect
JVM_FRAME = "\tat "
STOPPED = "was stopped"
"""What Spark logs about a query that ends with its session."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    client = os.environ.get("CONNECT_CLIENT")
    if not client:
        pytest.skip("CONNECT_CLIENT names no Python of a client; the session connect makes one")
    with connect_server(tmp_path_factory.mktemp("connect"), client) as running:
        yield running


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as running:
        yield running


@pytest.fixture
def orders(emulator: Emulator) -> StreamUnderTest:
    return StreamUnderTest(emulator.endpoint_url, "orders", 2)


@pytest.fixture
def teas(emulator: Emulator) -> StreamUnderTest:
    return StreamUnderTest(emulator.endpoint_url, "teas")


def to(stream: StreamUnderTest) -> dict[str, str]:
    """Return the options of a sink to *stream*."""
    names = ("streamName", "endpointUrl", "region", "awsAccessKeyId", "awsSecretKey")
    return {name: stream.options()[name] for name in names}


def texts(stream: StreamUnderTest) -> list[str]:
    return sorted(payload.decode() for payload in stream.payloads)


def test_client_has_nothing(server: Server) -> None:
    """A client has none of our packages, no botocore, nothing for a JVM, and no Java."""
    assert server.run("has") == []


def test_batch(server: Server, orders: StreamUnderTest) -> None:
    """A client writes rows as a batch, and reads them as a batch."""
    server.run("write", sink=to(orders), payloads=["black", "green"])
    assert sorted(server.run("read", source=orders.options())) == ["black", "green"]


def test_streaming(server: Server, orders: StreamUnderTest, teas: StreamUnderTest) -> None:
    """A query of a new client continues from the checkpoint of an earlier one: each record is copied once."""
    job = {"source": orders.options(), "sink": to(teas), "checkpoint": str(server.folder / "copied")}
    for count in (20, 5):
        orders.put_numbers(count)
        server.run("copy", **job)
    assert sorted(server.run("read", source=teas.options())) == texts(orders)


def test_foreach_batch(server: Server, orders: StreamUnderTest, teas: StreamUnderTest) -> None:
    """foreachBatch runs a client's function on the server, and a listener runs in the client."""
    orders.put_numbers(3)
    checkpoint = str(server.folder / "by-function")
    events = server.run("copy_by_function", source=orders.options(), sink=to(teas), checkpoint=checkpoint)
    assert {"QueryStartedEvent", "QueryProgressEvent", "QueryTerminatedEvent"} <= set(events)
    assert sorted(server.run("read", source=teas.options())) == texts(orders)


def test_error(server: Server, orders: StreamUnderTest) -> None:
    """An error has our sentence, and the JVM's frames only if they are asked for."""
    absent = orders.options(streamName="absent")
    for stacktrace, has_frames in (("true", True), ("false", False)):
        lines = server.run("fail", source=absent, stacktrace=stacktrace)
        assert any(line.startswith("kinesis_core.errors.StreamNotFoundError: ") for line in lines)
        assert any(line.startswith(JVM_FRAME) for line in lines) == has_frames


def test_end_of_session(server: Server, orders: StreamUnderTest) -> None:
    """The queries of a session end with it."""
    stopped = server.log.count(STOPPED)
    assert server.run("leave", source=orders.options(), checkpoint=str(server.folder / "left"))
    wait_until(lambda: server.log.count(STOPPED) > stopped, lambda: server.log)
