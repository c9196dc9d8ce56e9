"""The recipe for Ray: a batch is read in tasks, and each record is in one run's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import ray

from engines.recipes import recipe
from kinesis_core import Stream
from kinesis_emulator import Emulator
from support.streams import connection_to

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start Ray on this machine alone, and return the recipe, which the tasks import as well."""
    folder = tmp_path_factory.mktemp("program")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", path)
        module = recipe("kinesis_ray", folder)
        ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", logging_level="ERROR")
        yield module
        ray.shutdown()


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders", 2)
        for number in range(100):
            running.put("orders", str(number), partition_key=str(number))
        yield running


def opened(emulator: Emulator) -> Stream:
    return Stream.open("orders", **connection_to(emulator.endpoint_url))


def loaded(folder: Path) -> list[int]:
    tables = [pq.read_table(path) for path in sorted(folder.glob("run-*"))]
    return [int(data.as_py()) for table in tables for data in table["data"]]


def test_a_task_reads_each_part(program: Any, emulator: Emulator) -> None:
    """Each shard is read by a task of its own, if Ray wants as many, and related shards by one."""
    batch = opened(emulator).read()
    tasks = program.KinesisDatasource(batch).get_read_tasks(10)
    assert len(tasks) == 2
    rows = [row for task in tasks for block in task() for row in block["data"].to_pylist()]
    assert sorted(map(int, rows)) == list(range(100))
    assert len(program.KinesisDatasource(batch).get_read_tasks(1)) == 1


def test_each_run_writes_what_is_new(program: Any, emulator: Emulator, tmp_path: Path) -> None:
    """The runs have each record once, also if one crashed after it had written its records and before it wrote its state."""
    stream, state = opened(emulator), tmp_path / "state.json"
    assert program.load(stream, tmp_path) == 100
    first = state.read_text()
    emulator.put("orders", "100")
    assert program.load(stream, tmp_path) == 1
    state.write_text(first)
    emulator.put("orders", "101")
    assert program.load(stream, tmp_path) == 2
    assert sorted(loaded(tmp_path)) == list(range(102))
    assert program.load(stream, tmp_path) == 0
