"""
CPU time and memory of a task of the sink in Spark: against boto3 and aws_kinesis_agg by hand, against the minimum
work, record batches against rows, and the memory of a task with a slow server.

    python -m tests.bench.bench_sink
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from kinesis_emulator import Emulator, EmulatorProcess, Fault, Limits, Settings
from kinesis_emulator.requests import Request
from tests.bench.compared_sinks import ArrowSink, HandSink, RowSink
from tests.bench.floor_sink import FloorSink
from tests.bench.harness import Finding, Note, Row, one_core, show
from tests.bench.memory import MB
from tests.bench.sessions import spark_session

GROUP = "Sink in Spark"
ROWS = {100: 200_000, 1000: 50_000}
"""Rows of a task by their size: 20 and 50 MB."""
REPEAT = 5
CASES = (
    ("hand-sink", "by hand", 100, True, 6.0),
    ("hand-sink", "by hand", 1000, True, None),
    ("hand-sink", "by hand", 100, False, None),
    ("hand-sink", "by hand", 1000, False, None),
    ("floor-sink", "the floor", 100, True, None),
    ("floor-sink", "the floor", 1000, False, None),
    ("row-sink", "rows", 100, True, None),
    ("row-sink", "rows", 1000, False, None),
)
"""The other sink, its name, bytes of a row, whether rows are aggregated, and the target."""
PROFILE = """\
A task aggregates rows of 100 B under 1,000 keys. Separate runs of cProfile divide its CPU time with native code. Filling aggregates takes
22 %, base64 and MD5 of requests 23 %, SHA-256 for the signature 18 %, and finding shards 16 %. The rest is Python's policy and
sockets. No list is made of the Arrow columns.
"""
SLOW_ROWS, SLOW_BYTES = 1_000_000, 1000
SLOW_RESPONSE_S = 0.1
MEMORY_MB = 200
SINKS = (ArrowSink, RowSink, HandSink, FloorSink)


def run() -> list[Finding]:
    with one_core(), spark_session(*SINKS, master="local[1]", config={}) as session:
        bench = _Bench(*session)
        rows = [bench.compare(*case) for case in CASES]
    # In a session of its own: the peak memory of a worker is that of all its tasks.
    with spark_session(*SINKS, master="local[1]", config={}) as session:
        return [*rows, *_Bench(*session).memory(), Note(PROFILE)]


class _Task(NamedTuple):
    """CPU time of a task, and the memory of its worker before it and at its peak."""

    spent_s: float
    idle_bytes: int
    peak_bytes: int

    @property
    def added_mb(self) -> float:
        """What the task adds: the worker has modules of all the sinks."""
        return (self.peak_bytes - self.idle_bytes) / MB


class _Bench:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._notes = directory / "notes"

    def compare(self, sink: str, name: str, size: int, aggregated: bool, target: float | None) -> Row:
        turns = [self._turn(sink, size, aggregated) for _ in range(REPEAT)]
        case = f"Arrow vs. {name}, {'aggregated' if aggregated else 'plain'}, {size} B"
        rates = [(ROWS[size] / ours.spent_s, ROWS[size] / its.spent_s) for ours, its in turns]
        memory_mb = tuple(max(task.added_mb for task in side) for side in zip(*turns, strict=True))
        return Row.of(GROUP, case, "rows/s and core", rates, target, memory_mb=memory_mb)

    def _turn(self, sink: str, size: int, aggregated: bool) -> tuple[_Task, _Task]:
        """Return what a task of our sink takes, and one of the other *sink*."""
        with EmulatorProcess({"orders": 4}) as emulator:  # a new one, because it stores everything
            where = {**emulator.spark_options, "aggregationEnabled": str(aggregated)}
            for rows in (1, ROWS[size]):  # first what a worker does once: imports and connecting
                tasks = self._write("arrow-sink", rows, size, where), self._write(sink, rows, size, where)
        return tasks

    def memory(self) -> list[Row]:
        """Return the memory of a task of a million rows with a server that responds slowly."""
        with Emulator(settings=Settings(limits=Limits.unlimited(), fault=_respond_slowly)) as emulator:
            emulator.create_stream("orders", 1)
            where = emulator.spark_options
            self._write("arrow-sink", 1, SLOW_BYTES, where)  # loads everything in the worker
            task = self._write("arrow-sink", SLOW_ROWS, SLOW_BYTES, where)
        case = f"a task of {SLOW_ROWS:,} x 1 KB"
        limit = f"MB, limit {MEMORY_MB}"
        return [
            Row.cost(GROUP, f"{case} adds", limit, task.added_mb, MEMORY_MB, 1.0),
            Row.cost(
                GROUP, f"{case}, its worker", "MB, vs. idle", task.peak_bytes / MB, task.idle_bytes / MB
            ),
        ]

    def _write(self, sink: str, rows: int, size: int, where: dict[str, str]) -> _Task:
        """Write in one task."""
        self._notes.unlink(missing_ok=True)
        data = f"rpad(cast(id as string), {size}, 'x') as data"
        frame = self._spark.range(0, rows, 1, 1).selectExpr(data, "cast(id % 1000 as string) as partitionKey")
        options = {**where, "streamName": "orders", "notes": str(self._notes), "recordTtlMs": "10 m"}
        frame.write.format(sink).options(**options).mode("append").save()
        spent_s, idle_bytes, peak_bytes = self._notes.read_text().split()
        return _Task(float(spent_s), int(idle_bytes), int(peak_bytes))


def _respond_slowly(request: Request) -> Fault | None:
    """Respond to PutRecords late, and store nothing, so that the memory of the emulator does not count."""
    if request.action != "PutRecords":
        return None
    time.sleep(SLOW_RESPONSE_S)
    result = '{"ShardId":"shardId-000000000000","SequenceNumber":"1"}'
    results = ",".join([result] * len(request.params["Records"]))
    return Fault(status=200, body=f'{{"FailedRecordCount":0,"Records":[{results}]}}'.encode())


if __name__ == "__main__":
    show(run())
