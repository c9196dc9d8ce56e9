"""
Runs one query over one record in a new session, and writes what it cost as a line of JSON, by kind of process.

    python -m tests.bench.one_query cost batch kinesis '{"streamName": "orders", ...}'
    python -m tests.bench.one_query memory stream one-row '{}'

Only the query counts, from `load()` to its end. The session has started before, and has run a query without Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.bench.one_row_source import OneRowSource
from tests.bench.process_tree import largest_mb, looking, processes
from tests.bench.sessions import spark_session

SAMPLE_S = 0.05
"""Spark kills processes, and one that is killed leaves no figure, so all are looked at this often."""
ROLES = {
    "lookup_data_sources": "list data sources",
    "create_data_source": "create the source",
    "plan_data_source_read": "plan the read",
    "python_streaming_source_runner": "plan batches",
    "pyspark.worker": "task",
}
DAEMON, JVM = "daemons", "JVM"


def main(measured: str, mode: str, source: str, options: str) -> None:
    """Run the query. Write the CPU seconds of each role and the seconds of wall time, or the largest memory in MB."""
    with spark_session(master="local[2]") as (spark, folder):
        spark.range(1).write.format("noop").mode("overwrite").save()
        run = {"batch": _batch, "stream": _stream}[mode]
        measure = {"cost": _cost, "memory": _memory}[measured]
        time.sleep(1)  # the session's own threads come to rest
        cost = measure(lambda: run(spark, source, json.loads(options), folder))
    sys.stdout.write(json.dumps(cost) + "\n")


def _batch(spark: SparkSession, source: str, options: dict[str, str], folder: Path) -> None:  # noqa: ARG001 # as _stream
    _make_known(spark, source)
    spark.read.format(source).options(**options).load().write.format("noop").mode("overwrite").save()


def _stream(spark: SparkSession, source: str, options: dict[str, str], folder: Path) -> None:
    _make_known(spark, source)
    frame = spark.readStream.format(source).options(**options).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert sum(progress.numInputRows for progress in query.recentProgress) == 1


def _make_known(spark: SparkSession, source: str) -> None:
    """Register the source if Spark does not find it. This makes Spark list data sources, as `load()` does otherwise."""
    if source == OneRowSource.name():
        spark.dataSource.register(OneRowSource)


def _memory(work: Callable[[], object]) -> dict[str, float]:
    return {"memory": largest_mb(work)}


def _cost(work: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of CPU by role, and those of wall time, that *work* takes."""
    before, latest = processes(), dict[int, tuple[str, float]]()

    def look() -> None:
        for pid, (command, cpu_s) in processes().items():
            # A process that has ended keeps its figures for a moment, but not its command.
            latest[pid] = (command or latest.get(pid, (command,))[0], cpu_s)

    with looking(look, SAMPLE_S):
        started_s = time.monotonic()
        work()
        cost = {"wall": time.monotonic() - started_s}
    del latest[os.getpid()]  # it only waits, and samples
    for pid, (command, cpu_s) in latest.items():
        role = _role(pid, command, latest)
        cost[role] = cost.get(role, 0.0) + cpu_s - before.get(pid, ("", 0.0))[1]
    return cost


def _role(pid: int, command: str, found: dict[int, tuple[str, float]]) -> str:
    """Return the role of a process. Spark starts a daemon for each kind of worker, which has the same command and a lower number."""
    if "python" not in command.partition("\0")[0]:
        return JVM
    if any(other < pid and line == command for other, (line, _) in found.items()) or "daemon" not in command:
        return next((role for part, role in ROLES.items() if part in command), "others")
    return DAEMON


if __name__ == "__main__":
    main(*sys.argv[1:])
