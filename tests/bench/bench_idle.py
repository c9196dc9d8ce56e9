"""What an idle query costs, and how soon it sees a record: against the same query over a source handed the record."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import boto3  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from tests.bench.harness import Row, show
from tests.support.handed_source import HandedSource
from tests.support.spark_harness import start_session

from kinesis_emulator import Emulator

GROUP = "Idle query"
RECORDS = 15
PAUSE_S = 1.0
"""Between two records the query comes to rest."""
DEADLINE_S = 30.0
IDLE_S = 10.0


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory, Emulator() as emulator:
        # A production session: none of the shortcuts that make tests start fast.
        spark = start_session(
            Path(directory),
            config={
                "spark.driver.extraJavaOptions": "",
                "spark.sql.codegen.wholeStage": "true",
                "spark.sql.streaming.pollingDelay": "10ms",
            },
        )
        try:
            return _rows(spark, Path(directory), emulator)
        finally:
            spark.stop()


def _rows(spark: SparkSession, directory: Path, emulator: Emulator) -> list[Row]:
    emulator.create_stream("orders", 1)
    client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, **_KEYS)
    file = directory / "records"
    file.touch()
    spark.dataSource.register(HandedSource)
    ours = _Probe(
        spark,
        directory,
        "kinesis",
        {"streamName": "orders", "endpointUrl": emulator.endpoint_url, **_OPTIONS},
    )
    floor = _Probe(spark, directory, "handed", {"file": str(file)})

    def put() -> None:
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")

    def append() -> None:
        with file.open("ab") as records:
            records.write(b"x\n")

    ours_s, floor_s = _median_latencies(ours, put, floor, append)
    floor.stop()
    calls_s = _idle_calls_a_second(emulator)
    ours.stop()
    latency = Row(
        GROUP,
        "put to sink, trigger 0",
        "ms",
        ours_s * 1e3,
        floor_s * 1e3,
        ours_s / floor_s,
        3.0,
        is_cost=True,
    )
    idle = Row(
        GROUP, "GetRecords per shard", "calls/s, quota 5", calls_s, 5.0, calls_s / 5.0, 1.0, is_cost=True
    )
    return [latency, idle]


_KEYS = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
_OPTIONS = {"region": "us-east-1", "awsAccessKeyId": "test", "awsSecretKey": "test"}


class _Probe:
    """A streaming query that notes when each record arrives in its sink."""

    def __init__(self, spark: SparkSession, directory: Path, source: str, options: dict[str, str]) -> None:
        self.arrived: list[float] = []
        frame = spark.readStream.format(source).options(**options).load()
        writer = frame.writeStream.foreachBatch(self._note).trigger(processingTime="0 seconds")
        self._checkpoint = directory / f"{source}-checkpoint"
        self._query = writer.option("checkpointLocation", str(self._checkpoint)).start()
        _wait(lambda: (self._checkpoint / "commits" / "0").exists())

    def _note(self, frame: DataFrame, batch_id: int) -> None:  # noqa: ARG002 # Spark's signature
        rows = frame.collect()
        self.arrived += [time.perf_counter()] * len(rows)

    def latency_s(self, put: Callable[[], None]) -> float:
        count, begun = len(self.arrived), time.perf_counter()
        put()
        _wait(lambda: len(self.arrived) > count)
        return self.arrived[-1] - begun

    def stop(self) -> None:
        self._query.stop()


def _median_latencies(
    ours: _Probe, put: Callable[[], None], floor: _Probe, append: Callable[[], None]
) -> tuple[float, float]:
    """Return both medians; records come in turns, and at odd moments of the polling period."""
    latencies: list[tuple[float, float]] = []
    for i in range(RECORDS):
        time.sleep(PAUSE_S + 0.037 * i)
        mine = ours.latency_s(put)
        time.sleep(PAUSE_S)
        latencies.append((mine, floor.latency_s(append)))
    warm = latencies[3:]  # the first batches compile
    return statistics.median(mine for mine, _ in warm), statistics.median(theirs for _, theirs in warm)


def _idle_calls_a_second(emulator: Emulator) -> float:
    before, begun = emulator.calls.count("GetRecords"), time.perf_counter()
    time.sleep(IDLE_S)
    return (emulator.calls.count("GetRecords") - before) / (time.perf_counter() - begun)


def _wait(is_done: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + DEADLINE_S
    while not is_done():
        if time.perf_counter() > deadline:
            raise TimeoutError("the query did not get there in time")
        time.sleep(0.002)


if __name__ == "__main__":
    show(run())
