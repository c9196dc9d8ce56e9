"""The processes that are killed, and when."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import MARK, Process, executors, marked, python_workers
from tools.chaos.driver import Progress
from tools.chaos.job import TO_FILES, TO_STREAM

EXECUTOR = Process(10, 1, "java org.apache.spark.executor.CoarseGrainedExecutorBackend")
DAEMON = Process(11, 10, "python -m pyspark.daemon pyspark.worker")
WORKER = Process(12, 11, "python -m pyspark.daemon pyspark.worker")
OF_DRIVER = [
    Process(20, 1, "java org.apache.spark.deploy.SparkSubmit"),
    Process(21, 20, "python -m pyspark.daemon pyspark.sql.worker.create_data_source"),
    Process(22, 21, "python -m pyspark.daemon pyspark.sql.worker.create_data_source"),
]


def test_victims() -> None:
    """Python workers are those of executors, with the daemons that fork them. The driver has some of its own."""
    processes = [*OF_DRIVER, EXECUTOR, DAEMON, WORKER]
    assert executors(processes) == [EXECUTOR]
    assert python_workers(processes) == [DAEMON, WORKER]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_marked_processes_are_found_and_killed() -> None:
    """A process is found by its own mark in its environment only. A process that has ended cannot be killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, MARK: "a"}
    )
    with child:
        (found,) = marked("a")
        assert (found.pid, found.parent) == (child.pid, os.getpid())
        assert marked("another") == []
        assert found.kill()
    assert not found.kill()


def test_busy(tmp_path: Path) -> None:
    """A query is busy between the plan of a batch and its end. Other files do not count."""
    folders = [tmp_path / name / log for name in (TO_FILES, TO_STREAM) for log in ("offsets", "commits")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert not Progress.of(tmp_path).is_busy
    (folders[0] / "0").touch()
    (folders[0] / ".1.crc").touch()
    assert Progress.of(tmp_path).is_busy
    assert Progress.of(tmp_path).batches == 0
    (folders[1] / "0").touch()
    assert not Progress.of(tmp_path).is_busy
    assert Progress.of(tmp_path).batches == 1
