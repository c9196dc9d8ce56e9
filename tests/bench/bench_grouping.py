"""
Rows grouped by the shard of their key before they are written, against rows as they come: records, payload units, time.

    python -m tests.bench.bench_grouping
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from kinesis_emulator import Emulator, Fault, Limits, Settings
from kinesis_emulator.requests import Request
from tests.bench.harness import Finding, Row, show
from tests.bench.sessions import spark_session

GROUP = "Rows grouped by shard"
SHARDS, TASKS = 64, 8
ROWS = (10_000, 100_000)
ROW_BYTES = 100
REPEAT = 3
UNIT_BYTES = 25 * 1024
"""A PUT payload unit, by which AWS charges. A record takes at least one."""
HASH = "cast(conv(substr(md5(partitionKey), 1, 8), 16, 10) as bigint)"
"""The first 32 bits of the number that Kinesis compares with the hash key ranges of shards."""
WAYS = {
    "repartitionById": lambda frame: frame.repartitionById(
        TASKS, expr(f"cast({HASH} * {TASKS} div 4294967296 as int)")
    ),
    "repartitionByRange": lambda frame: frame.repartitionByRange(TASKS, expr(HASH)),
}


class Put(NamedTuple):
    """What one write took."""

    records: int
    units: int
    requests: int
    duration_s: float


class _Counter:
    """Counts what a server gets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.records = self.units = self.requests = 0

    def __call__(self, request: Request) -> Fault | None:
        if request.action == "PutRecords":
            sizes = [3 * len(record["Data"]) // 4 for record in request.params["Records"]]  # base64
            with self._lock:
                self.requests += 1
                self.records += len(sizes)
                self.units += sum(-(-size // UNIT_BYTES) for size in sizes)
        return None


def run() -> list[Finding]:
    counter = _Counter()
    settings = Settings(limits=Limits.unlimited(), fault=counter)
    with Emulator(settings=settings) as emulator, spark_session(master="local[2]", config={}) as (spark, _):
        emulator.create_stream("orders", SHARDS)
        bench = _Bench(spark, counter, {"streamName": "orders", **emulator.spark_options})
        return [row for rows in ROWS for way in WAYS for row in bench.compare(rows, way)]


class _Bench:
    def __init__(self, spark: Any, counter: _Counter, options: dict[str, str]) -> None:
        self._spark, self._counter, self._options = spark, counter, options

    def compare(self, rows: int, way: str) -> list[Row]:
        data = f"rpad(cast(id as string), {ROW_BYTES}, 'x') as data"
        key = "cast(xxhash64(id) % 100000 as string) as partitionKey"
        frame = self._spark.range(0, rows, 1, TASKS).selectExpr(data, key).persist()
        grouped = WAYS[way](frame)
        turns = [(self._write(grouped), self._write(frame)) for _ in range(1 + REPEAT)][
            1:
        ]  # the first loads code
        frame.unpersist()
        case = f"{rows:,} x {ROW_BYTES} B, {way}"
        return [
            Row.of(
                GROUP, case, metric, [(getattr(a, name), getattr(b, name)) for a, b in turns], is_cost=True
            )
            for metric, name in (
                ("records", "records"),
                ("PUT payload units", "units"),
                ("seconds", "duration_s"),
            )
        ]

    def _write(self, frame: DataFrame) -> Put:
        counter = self._counter
        counter.records = counter.units = counter.requests = 0
        started_s = time.monotonic()
        writer = frame.write.format("kinesis").options(**self._options, recordTtlMs="10 m")
        writer.mode("append").save()
        return Put(counter.records, counter.units, counter.requests, time.monotonic() - started_s)


if __name__ == "__main__":
    show(run())
