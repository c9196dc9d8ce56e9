"""
The duration of a micro-batch of 64 shards with one record each, on 2 cores, compared with a source that is handed a record.

    python -m tests.bench.bench_micro_batch
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_emulator import EmulatorProcess
from tests.bench.handed_source import HandedSource
from tests.bench.harness import Finding, Note, Row, show, table
from tests.bench.sessions import spark_session
from tests.support.streams import StreamUnderTest

GROUP = "Micro-batch, against the floor"
SHARDS = 64
BATCHES = 16
WARM_UP = 6
TARGET = 2.0
DEFAULT = "16"
SHARDS_PER_TASK = ("8", DEFAULT, "32", "64")


def run() -> list[Finding]:
    """Return a row for each number of shards per task, and the parts of the duration with the default."""
    with EmulatorProcess() as emulator, spark_session(HandedSource, master="local[2]") as (spark, folder):
        return _Bench(spark, folder, StreamUnderTest(emulator.endpoint_url, shards=SHARDS)).run()


@frozen
class _Bench:
    spark: SparkSession
    folder: Path
    stream: StreamUnderTest

    def run(self) -> list[Finding]:
        for _ in range(BATCHES):
            self._put()
        floor = self._floor()
        ours = {count: self._ours(count) for count in SHARDS_PER_TASK}
        return [
            *(_row(count, parts, floor) for count, parts in ours.items()),
            Note(_table(ours[DEFAULT], floor)),
        ]

    def _put(self) -> None:
        """Put one record into each shard."""
        keys = [str(index * 2**128 // SHARDS) for index in range(SHARDS)]
        records = [{"Data": b"x", "PartitionKey": "k", "ExplicitHashKey": key} for key in keys]
        self.stream.client.put_records(StreamName=self.stream.name, Records=records)

    def _ours(self, shards_per_task: str) -> dict[str, float]:
        options = self.stream.options(shardsPerTask=shards_per_task, maxRecordsPerShard="1")
        frame = self.spark.readStream.format("kinesis").options(**options).load()
        query = self._write(frame, f"ours-{shards_per_task}", availableNow=True)
        query.awaitTermination()
        return _parts_ms(query)

    def _floor(self) -> dict[str, float]:
        file = self.folder / "records"
        file.touch()
        frame = self.spark.readStream.format("handed").option("file", str(file)).load()
        query = self._write(frame, "floor", processingTime="0 seconds")
        for _ in range(BATCHES):
            with file.open("ab") as records:
                records.write(b"x\n")
            query.processAllAvailable()
        query.stop()
        return _parts_ms(query)

    def _write(self, frame: DataFrame, name: str, **trigger: Any) -> StreamingQuery:
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(self.folder / name))
        return writer.trigger(**trigger).start()


def _parts_ms(query: StreamingQuery) -> dict[str, float]:
    """Return the median durations of the parts of a batch, by Spark's names."""
    spent = [progress.durationMs for progress in query.recentProgress if progress.numInputRows][WARM_UP:]
    return {name: statistics.median(parts.get(name, 0) for parts in spent) for name in spent[-1]}


def _row(shards_per_task: str, ours: dict[str, float], floor: dict[str, float]) -> Row:
    is_default = shards_per_task == DEFAULT
    mine, its = ours["triggerExecution"], floor["triggerExecution"]
    case = f"{SHARDS} shards with a record each, {shards_per_task} a task{' (default)' if is_default else ''}"
    return Row.cost(GROUP, case, "ms", mine, its, TARGET if is_default else None)


def _table(ours: dict[str, float], floor: dict[str, float]) -> str:
    names = sorted(ours, key=lambda name: -ours[name])
    lines = ([name, f"{ours[name]:,.0f}", f"{floor.get(name, 0):,.0f}"] for name in names)
    about = "The parts of the duration that Spark reports, in ms, medians:"
    return f"{about}\n\n{table(['', 'ours', 'floor'], lines)}"


if __name__ == "__main__":
    show(run())
