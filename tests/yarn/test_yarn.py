"""YARN: the page's commands submit a packed environment, and a query continues from its checkpoint on HDFS whatever is killed."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field

pytest.importorskip("pyspark")

import pyspark

from kinesis_emulator import Emulator, Limits, Request, Settings
from support.streams import KEY_ID, SECRET, StreamUnderTest
from support.user_records import data_of
from support.waiting import PATIENCE_S, wait_until
from support.witness import WitnessUnavailableError, require
from yarn.cluster import Cluster, cluster
from yarn.gateway import Disturb, Gateway, Submission

REGION = "eu-west-1"  # of the page's commands
CHECKPOINT = "checkpoints/teas"  # of the page's job
REPEATS_ONLY = pyspark.__version__ < "4.2"
"""Whether a run with availableNow that has to repeat a batch leaves what is new for the next run."""

pytestmark = [
    pytest.mark.yarn,
    pytest.mark.timeout(1800),  # ends a test that hangs: each starts about fifteen JVMs
]


@define
class HeldBatch:
    """Holds all calls of GetRecords of tasks, from a batch in the checkpoint that is not committed, until the block ends."""

    emulator: Emulator
    cluster: Cluster
    _is_held: threading.Event = field(factory=threading.Event, init=False)
    _is_over: threading.Event = field(factory=threading.Event, init=False)

    def __enter__(self) -> HeldBatch:
        self.emulator.settings.fault = self._hold
        return self

    def __exit__(self, *_: object) -> None:
        self.emulator.settings.fault = None
        self._is_over.set()

    def _hold(self, request: Request) -> None:
        if request.action == "GetRecords" and self._is_pending():
            self._is_held.set()
            self._is_over.wait(PATIENCE_S)

    def _is_pending(self) -> bool:
        planned, committed = (self.cluster.list(f"{CHECKPOINT}/{name}") for name in ("offsets", "commits"))
        return any(batch.isdigit() for batch in planned - committed)

    def is_in_a_task(self) -> bool:
        return self._is_held.is_set() and self.cluster.has_workers()


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(region=REGION, limits=Limits.unlimited())) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Yield a gateway of a running cluster. The environment is that of READER_PYTHON."""
    folder = tmp_path_factory.mktemp("yarn")
    variables = {  # on AWS, machines get credentials from their role
        "AWS_ENDPOINT_URL_KINESIS": emulator.endpoint_url,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    try:
        with cluster(folder, variables) as running:
            yield Gateway(folder / "gateway", running, Path(os.environ["READER_PYTHON"]), variables)
    except WitnessUnavailableError as error:
        require(error)


@pytest.fixture
def orders(emulator: Emulator, gateway: Gateway) -> StreamUnderTest:
    """Return the stream that the job reads. It and the one that the job writes are new, and there is no checkpoint."""
    for stream in ("orders", "teas"):
        if emulator.has_stream(stream):
            emulator.delete_stream(stream)
    gateway.cluster.delete(CHECKPOINT)
    emulator.create_stream("teas")
    return StreamUnderTest(emulator.endpoint_url, "orders", 2, REGION)


def in_a_batch(gateway: Gateway, emulator: Emulator, kill: Callable[[Submission], None]) -> Disturb:
    """Return what calls *kill* once a task is about to read a batch. The task waits until all killed processes have ended."""

    def disturb(submission: Submission) -> None:
        with HeldBatch(emulator, gateway.cluster) as held:
            wait_until(lambda: held.is_in_a_task() or submission.is_over, gateway.printed)
            if not submission.is_over:
                kill(submission)

    return disturb


def assert_copied(emulator: Emulator, gateway: Gateway, orders: list[bytes]) -> None:
    """Each of these orders was copied once, by the Python of the archive that YARN has unpacked for the executor."""
    assert data_of(emulator, "teas") == sorted(orders)
    assert f"copied {len(orders)} orders" in gateway.printed()
    for python in re.findall(r"^with (.+)$", gateway.printed(), re.MULTILINE):
        assert Path(python).is_relative_to(gateway.cluster.folder / "local")
        assert python.endswith("/environment/bin/python")


def test_cluster_mode(gateway: Gateway, emulator: Emulator, orders: StreamUnderTest) -> None:
    """
    A killed executor is replaced, and its task repeated.

    The driver is in the application master. If that is killed, YARN starts a second one. It continues from the checkpoint: it repeats the
    batch without what was put meanwhile. A next batch has that.
    """

    def kill_executor(_: Submission) -> None:
        gateway.cluster.kill(gateway.cluster.executors())

    def kill_master(_: Submission) -> None:
        gateway.cluster.kill(gateway.cluster.masters(), and_end=gateway.cluster.executors())
        orders.put_numbers(125)

    orders.put_numbers(125)
    assert gateway.run("cluster", in_a_batch(gateway, emulator, kill_executor)) == 0
    assert_copied(emulator, gateway, orders.payloads)

    orders.put_numbers(125)
    assert gateway.run("cluster", in_a_batch(gateway, emulator, kill_master)) == 0
    assert_copied(emulator, gateway, orders.payloads[: 250 if REPEATS_ONLY else None])


def test_client_mode(gateway: Gateway, emulator: Emulator, orders: StreamUnderTest) -> None:
    """
    The driver is a process of the gateway. If the application master is killed, YARN starts a second one, and the query continues.

    If the driver is killed, YARN ends the executors. The next start continues from the checkpoint.
    """

    def kill_master(_: Submission) -> None:
        gateway.cluster.kill(gateway.cluster.masters(), and_end=gateway.cluster.executors())

    def kill_driver(submission: Submission) -> None:
        left = [*gateway.cluster.masters(), *gateway.cluster.executors()]
        submission.kill()
        gateway.cluster.wait_for_end(left)

    orders.put_numbers(125)
    assert gateway.run("client", in_a_batch(gateway, emulator, kill_master)) == 0
    assert_copied(emulator, gateway, orders.payloads)

    orders.put_numbers(125)
    assert gateway.run("client", in_a_batch(gateway, emulator, kill_driver)) == -signal.SIGKILL

    orders.put_numbers(125)
    assert gateway.run("client") == 0
    assert_copied(emulator, gateway, orders.payloads[: 250 if REPEATS_ONLY else None])
