"""
The container of the emulator: its Dockerfile fits the package, and where there is an engine it is built, run and called.

EMULATOR_PYTHON_IMAGE names another image to build on than the Dockerfile does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from attrs import frozen

from kinesis_emulator.health import connection
from support.dockerfiles import findings
from support.paths import TESTS
from support.waiting import PATIENCE_S, wait_until

PACKAGE = TESTS.parent / "packages" / "kinesis-emulator"
DOCKERFILE = (PACKAGE / "Dockerfile").read_text(encoding="utf-8")
PORT = 4567


def test_dockerfile_by_hadolint() -> None:
    """hadolint finds nothing in the Dockerfile."""
    assert findings(DOCKERFILE) == ""


def test_dockerfile_fits_the_package() -> None:
    """The exposed port is the default one, the health check is a file of the package, and the user is a number, as Kubernetes needs it."""
    assert re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.M) == [str(connection("").port)]
    (check,) = re.findall(r"\"/opt/kinesis-emulator/(\S+)\"", DOCKERFILE)
    assert (PACKAGE / "src" / check).is_file()
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.M)
    assert int(user) > 0


@frozen
class Engine:
    """Docker or Podman, with an image of the emulator."""

    program: str
    image: str

    def __call__(self, *arguments: str, check: bool = True) -> str:
        """Run a command. Return what it prints."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    @contextmanager
    def running(
        self, *arguments: str, options: tuple[str, ...] = (), port: int = PORT
    ) -> Iterator[Container]:
        """Yield a container of the emulator, with these *arguments* of its command, once it is healthy."""
        name = self("run", "--detach", f"--publish=127.0.0.1::{port}", *options, self.image, *arguments)
        container = Container(self, name, port)
        try:
            wait_until(container.is_healthy, lambda: self("logs", name, check=False))
            yield container
        finally:
            self("rm", "--force", "--volumes", name)


@frozen
class Container:
    engine: Engine
    name: str
    port: int

    @property
    def address(self) -> str:
        """The address at which this machine reaches it, such as 127.0.0.1:32768."""
        return self.engine("port", self.name, f"{self.port}/tcp").splitlines()[0]

    def client(self) -> Any:
        return boto3.client(
            "kinesis",
            endpoint_url=f"http://{self.address}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def run(self, *command: str) -> str:
        """Run a command in it. Return what it prints."""
        return self.engine("exec", self.name, *command)

    def is_healthy(self) -> bool:
        """Return what the health check of the image says. Docker runs the same every two seconds; Podman needs systemd for that."""
        check = json.loads(self.engine("inspect", "--format={{json .Config.Healthcheck.Test}}", self.name))
        assert check[0] == "CMD"
        done = subprocess.run([self.engine.program, "exec", self.name, *check[1:]], capture_output=True)
        return done.returncode == 0

    def exit_status(self) -> int | None:
        """Return its exit status, once it has ended."""
        running, status = self.engine(
            "inspect", "--format={{.State.Running}} {{.State.ExitCode}}", self.name
        ).split()
        return None if running == "true" else int(status)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Yield an engine that has built the image. Without an engine, or the image to build on, a test is skipped with the reason."""
    found = [name for name in ("docker", "podman") if shutil.which(name)]
    program = next((name for name in found if _run(name, "info").returncode == 0), None)
    if program is None:
        pytest.skip(f"no engine of containers runs here; installed: {', '.join(found) or 'none'}")
    (base,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE, re.M)
    base = os.environ.get("EMULATOR_PYTHON_IMAGE", base)
    if _run(program, "image", "inspect", base).returncode:
        pytest.skip(f"{program} has no {base}. Pull it, or name another one with EMULATOR_PYTHON_IMAGE.")
    image = f"kinesis-emulator-test:{uuid.uuid4().hex[:12]}"
    docker = ["--format=docker"] if program == "podman" else []  # the other format has no health check
    built = _run(
        program, "build", *docker, f"--build-arg=PYTHON_IMAGE={base}", f"--tag={image}", str(PACKAGE)
    )
    assert built.returncode == 0, built.stdout + built.stderr
    yield Engine(program, image)
    _run(program, "rmi", "--force", image)


@pytest.mark.everything
def test_a_container_serves_those_outside(engine: Engine) -> None:
    """A client of the host finds the stream of the command line, ACTIVE and with its shards, and puts to it."""
    with engine.running("--stream", "orders=4") as container:
        client = container.client()
        described = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
        assert (described["StreamStatus"], described["OpenShardCount"]) == ("ACTIVE", 4)
        assert client.put_record(StreamName="orders", Data=b"tea", PartitionKey="ann")["SequenceNumber"]


@pytest.mark.everything
def test_a_container_holds_only_the_emulator(engine: Engine) -> None:
    """It does not run as root, and has the emulator with its extras, but neither boto3 nor what built it."""
    with engine.running() as container:
        assert container.run("id", "-u") == "10001"
        listed = container.run("ls", "/opt/kinesis-emulator").split()
        assert {"kinesis_emulator", "h2", "cryptography"} <= set(listed)
        assert not {"boto3", "botocore", "hatchling"} & set(listed)


@pytest.mark.everything
def test_the_health_check_knows_port_and_tls(engine: Engine) -> None:
    """A container with another port inside and TLS becomes healthy."""
    with engine.running("--port=4566", "--tls", port=4566) as container:
        assert container.is_healthy()


@pytest.mark.everything
def test_a_container_ends_at_once(engine: Engine) -> None:
    """SIGTERM ends it with status 0, while a subscription is open. Its first process is the emulator, so that nobody else must pass it on."""
    with engine.running("--stream=orders") as container:
        client = container.client()
        stream = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
        consumer = client.register_stream_consumer(StreamARN=stream, ConsumerName="audit")["Consumer"][
            "ConsumerARN"
        ]
        wait_until(lambda: _status(client, consumer) == "ACTIVE")
        subscribed = client.subscribe_to_shard(
            ConsumerARN=consumer, ShardId="shardId-000000000000", StartingPosition={"Type": "LATEST"}
        )
        engine("kill", "--signal=TERM", container.name)
        wait_until(lambda: container.exit_status() is not None)
        assert container.exit_status() == 0
        subscribed["EventStream"].close()


def _status(client: Any, consumer: str) -> str:
    return str(client.describe_stream_consumer(ConsumerARN=consumer)["ConsumerDescription"]["ConsumerStatus"])


@pytest.mark.everything
def test_a_volume_keeps_streams(engine: Engine) -> None:
    """A new volume at /data belongs to the container's user, and has the records of a container that was killed."""
    volume = f"kinesis-emulator-test-{uuid.uuid4().hex[:12]}"
    kept = (f"--volume={volume}:/data",)
    try:
        with engine.running("--data=/data", "--stream=orders", options=kept) as container:
            container.client().put_record(StreamName="orders", Data=b"tea", PartitionKey="ann")
            engine("kill", "--signal=KILL", container.name)
        with engine.running("--data=/data", options=kept) as container:
            client = container.client()
            start = {"ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
            iterator = client.get_shard_iterator(StreamName="orders", **start)["ShardIterator"]
            assert [record["Data"] for record in client.get_records(ShardIterator=iterator)["Records"]] == [
                b"tea"
            ]
    finally:
        engine("volume", "rm", volume, check=False)
