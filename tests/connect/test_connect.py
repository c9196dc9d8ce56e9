"""Spark Connect: the server has our packages and Java, the client has only Spark's client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

pytest.importorskip("pyspark")

import pyspark

from kinesis_emulator import Emulator, Limits, Settings
from support import python_starts
from support.ports import free_port
from support.streams import StreamUnderTest
from support.waiting import wait_until

HOST = "127.0.0.1"
CLIENT = Path(__file__).with_name("connect_client.py")
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
CONFIG = {
    "spark.connect.grpc.binding.address": HOST,
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


@frozen
class Server:
    """A running server; *python* is that of its clients."""

    url: str
    python: str
    folder: Path

    def run(self, command: str, **arguments: Any) -> Any:
        """Run a command of `connect_client` in a new client, without Java on its PATH, and return its result."""
        ran = python_starts.run(
            [self.python, "-I", "-W", "ignore", str(CLIENT), command, json.dumps(arguments)],
            env={"PATH": str(Path(self.python).parent), "CONNECT_URL": self.url},
            cwd=self.folder,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout.splitlines()[-1])

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()


@contextmanager
def connect_server(folder: Path, client_python: str) -> Iterator[Server]:
    """Yield a server that listens on this machine only. It logs into *folder*."""
    port = free_port()
    config = {**CONFIG, "spark.connect.grpc.binding.port": str(port)}
    settings = [part for key, value in config.items() for part in ("--conf", f"{key}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SPARK_SUBMIT), "--master", "local[2]", *settings, "--class", SERVER],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(f"sc://{HOST}:{port}", client_python, folder)
    try:
        wait_until(
            lambda: "Spark Connect server started" in server.log or process.poll() is not None,
            lambda: server.log,
        )
        assert process.poll() is None, server.log
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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
