"""Declarative pipelines: the command `spark-pipelines` runs them with the source and the sink as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import define, field

pytest.importorskip("pyspark")

import pyarrow.parquet as parquet
import pyspark

from kinesis_emulator import Emulator, Limits, Request, Settings
from support import python_starts
from support.streams import KEY_ID, REGION, SECRET, StreamUnderTest
from support.user_records import data_of
from support.waiting import PATIENCE_S, wait_until

HOST = "127.0.0.1"
PROJECT = Path(__file__).with_name("project")
BIN = Path(pyspark.__file__).parent / "bin"
CONFIG = (
    ("spark.sql.catalogImplementation", "hive"),  # tables and their locations outlast a run
    ("spark.connect.grpc.binding.address", HOST),
    ("spark.ui.enabled", "false"),
)
SETTINGS = [part for name, value in CONFIG for part in ("--conf", f"{name}={value}")]
SPEC = """\
name: orders
storage: {storage}
configuration:
  spark.sql.shuffle.partitions: "2"
libraries:
  - glob:
      include: {definitions}
"""
TABLE_OF_STREAM = """\
CREATE TABLE kinesis_orders USING kinesis
OPTIONS (streamName 'orders', startingPosition 'TRIM_HORIZON', shardDiscoveryInterval '200 ms')
"""
pytestmark = pytest.mark.connect


@define
class HeldCall:
    """The first call of *action* once *folder* has a file of that *pattern*. It is held until the block ends."""

    emulator: Emulator
    action: str
    folder: Path
    pattern: str
    is_held: threading.Event = field(factory=threading.Event, init=False)
    _is_over: threading.Event = field(factory=threading.Event, init=False)

    def __enter__(self) -> HeldCall:
        self.emulator.settings.fault = self._hold
        return self

    def __exit__(self, *_: object) -> None:
        self.emulator.settings.fault = None
        self._is_over.set()

    def _hold(self, request: Request) -> None:
        if request.action == self.action and any(self.folder.glob(self.pattern)):
            self.is_held.set()
            self._is_over.wait(PATIENCE_S)


@define
class Pipeline:
    """A project in *folder* with the definitions in one file of `project`."""

    folder: Path
    endpoint_url: str
    definitions: str
    storage: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.storage = self.folder / "storage"
        definitions = (PROJECT / self.definitions).read_text(encoding="utf-8")
        (self.folder / self.definitions).write_text(definitions, encoding="utf-8")
        spec = SPEC.format(storage=self.storage.as_uri(), definitions=self.definitions)
        (self.folder / "spark-pipeline.yml").write_text(spec, encoding="utf-8")

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": HOST,
            "AWS_ENDPOINT_URL_KINESIS": self.endpoint_url,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def run(self, *arguments: str) -> None:
        """Update all tables, as far as the streams go now."""
        self._spark("spark-pipelines", "run", *arguments)

    def sql(self, statement: str) -> None:
        """Run a statement on the catalog of the pipeline."""
        self._spark("spark-sql", "-e", statement)

    def _spark(self, program: str, *arguments: str) -> None:
        command = [str(BIN / program), *arguments, *SETTINGS]
        ran = python_starts.run(command, env=self._environment, cwd=self.folder)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def kill_at(self, call: HeldCall) -> None:
        """Start a run, and kill all of its processes while that call is held."""
        log = self.folder / "killed.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(BIN / "spark-pipelines"), "run", *SETTINGS],
                env=self._environment,
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_until(lambda: call.is_held.is_set() or process.poll() is not None, log.read_text)
            assert process.poll() is None, log.read_text()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def received(self) -> list[bytes]:
        """The rows of the materialized view of that name."""
        rows = parquet.read_table(self.folder / "spark-warehouse" / "received").column("data").to_pylist()
        return sorted(row.encode() for row in rows)


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as running:
        running.create_stream("teas")
        yield running


@pytest.fixture
def orders(emulator: Emulator) -> StreamUnderTest:
    return StreamUnderTest(emulator.endpoint_url, "orders", 2)


def test_python(tmp_path: Path, emulator: Emulator, orders: StreamUnderTest) -> None:
    """
    Each run continues where the last one ended, also after a run that was killed within a batch.

    A full refresh empties the table. It reads what the stream still has, and writes all of that to the sink once more.
    """
    pipeline = Pipeline(tmp_path, emulator.endpoint_url, "orders.py")
    orders.put_numbers(125)
    pipeline.run()
    assert pipeline.received == data_of(emulator, "teas") == sorted(orders.payloads)

    orders.put_numbers(125)
    with HeldCall(emulator, "GetRecords", pipeline.storage, "**/orders/0/offsets/1") as in_a_task:
        pipeline.kill_at(in_a_task)
    pipeline.run()
    assert pipeline.received == data_of(emulator, "teas") == sorted(orders.payloads)

    shard = emulator.shard_ids("orders")[0]
    emulator.trim("orders", shard, 100)
    left = data_of(emulator, "orders")
    assert 0 < len(left) < 250
    pipeline.run("--full-refresh-all")
    assert pipeline.received == left
    assert data_of(emulator, "teas") == sorted(orders.payloads + left)


def test_killed_while_writing(tmp_path: Path, emulator: Emulator, orders: StreamUnderTest) -> None:
    """If a run is killed while it writes to a stream, the next one writes the batch again: the rows are there at least once."""
    pipeline = Pipeline(tmp_path, emulator.endpoint_url, "orders.py")
    orders.put_numbers(125)
    with HeldCall(emulator, "PutRecords", pipeline.storage, "**/copied/0/offsets/0") as in_the_sink:
        pipeline.kill_at(in_the_sink)
    pipeline.run()
    assert pipeline.received == sorted(orders.payloads)
    assert sorted(set(data_of(emulator, "teas"))) == sorted(orders.payloads)


def test_sql(tmp_path: Path, emulator: Emulator, orders: StreamUnderTest) -> None:
    """
    In SQL, STREAM reads a table USING kinesis of the catalog. The second run reads only what is new.

    A table that must not be reset keeps its rows and its place in the stream when everything is refreshed.
    """
    pipeline = Pipeline(tmp_path, emulator.endpoint_url, "orders.sql")
    pipeline.sql(TABLE_OF_STREAM)
    for _ in range(2):
        orders.put_numbers(125)
        pipeline.run()
        assert pipeline.received == sorted(orders.payloads)
    emulator.trim("orders", emulator.shard_ids("orders")[0], 100)
    pipeline.run("--full-refresh-all")
    assert pipeline.received == sorted(orders.payloads)
