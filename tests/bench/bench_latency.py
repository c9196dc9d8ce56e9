"""
From put to sink, against the same query over a source that is handed the record; and what an idle query costs.

    python -m tests.bench.bench_latency
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import boto3  # type: ignore[import-untyped]
from attrs import define, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from tests.bench.harness import Finding, Note, Plot, Row, show
from tests.support.handed_source import HandedSource
from tests.support.spark_harness import start_session

from kinesis_emulator import Emulator

GROUP = "Put to sink"
TRIGGERS = ("0 seconds", "1 second")
RECORDS = 27
"""How long a record waits to be looked for is a matter of chance: of fewer the median tells little."""
WARM_UP = 3
"""The first batches compile."""
PAUSE_S = 1.0
"""Between two records the query comes to rest."""
STEADY_S = 8.0
STEADY_PERIOD_S = 0.05
DEADLINE_S = 120.0
IDLE_S = 10.0
TARGET = 2.0
QUOTA_CALLS = 5.0
_KEYS = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
_OPTIONS = {"region": "us-east-1", "awsAccessKeyId": "test", "awsSecretKey": "test"}


def run() -> list[Finding]:
    with (
        tempfile.TemporaryDirectory() as directory,
        Emulator() as emulator,
        _session(Path(directory)) as spark,
    ):
        spark.dataSource.register(HandedSource)
        bench = _Bench(spark, Path(directory), emulator)
        runs = {trigger: bench.measure(trigger) for trigger in TRIGGERS}
    rows = [row for trigger, found in runs.items() for row in found.rows(trigger)]
    lines = {
        f"{name}, trigger {trigger}": _curve(values)
        for trigger, found in runs.items()
        for name, values in found.steady().items()
    }
    plot = Plot("latency", "Put to sink at 20 records a second", "percentile", "ms", lines)
    return [*rows, _idle_row(bench), plot, Note(_breakdown(runs["0 seconds"]))]


def _idle_row(bench: _Bench) -> Row:
    calls_s = bench.idle_calls_a_second
    return Row(
        GROUP,
        "idle: GetRecords per shard",
        "calls/s, quota 5",
        calls_s,
        QUOTA_CALLS,
        calls_s / QUOTA_CALLS,
        1.0,
        is_cost=True,
    )


@contextmanager
def _session(directory: Path) -> Iterator[SparkSession]:
    """Yield a production session: none of the shortcuts that make tests start fast."""
    spark = start_session(
        directory,
        config={
            "spark.driver.extraJavaOptions": "",
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.streaming.pollingDelay": "10ms",
        },
    )
    try:
        yield spark
    finally:
        spark.stop()


@frozen
class _Arrival:
    """A record in the sink. Times in seconds since the epoch."""

    put_s: float
    arrived_s: float
    batch_id: int

    @property
    def ms(self) -> float:
        return (self.arrived_s - self.put_s) * 1000


@define
class _Probe:
    """A streaming query that notes when each record arrives in its sink; a record says when it was put."""

    spark: SparkSession
    checkpoint: Path
    source: str
    options: dict[str, str]
    put: Callable[[bytes], None]
    arrived: list[_Arrival] = field(factory=list)
    _query: StreamingQuery = field(init=False)

    def start(self, trigger: str) -> None:
        frame = self.spark.readStream.format(self.source).options(**self.options).load()
        writer = frame.writeStream.foreachBatch(self._note).trigger(processingTime=trigger)
        self._query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        _wait(lambda: (self.checkpoint / "commits" / "0").exists())

    def _note(self, frame: DataFrame, batch_id: int) -> None:
        rows, now_s = frame.collect(), time.time()
        self.arrived += [_Arrival(float(row.data), now_s, batch_id) for row in rows]

    def send(self) -> None:
        self.put(repr(time.time()).encode())

    def send_one(self) -> _Arrival:
        """Put a record into a query that is at rest, and wait until it arrives."""
        count = len(self.arrived)
        self.send()
        _wait(lambda: len(self.arrived) > count)
        return self.arrived[-1]

    def send_many(self) -> list[_Arrival]:
        """Put record after record, and return all but those of the first second."""
        first, count = len(self.arrived), round(STEADY_S / STEADY_PERIOD_S)
        for _ in range(count):
            self.send()
            time.sleep(STEADY_PERIOD_S)
        _wait(lambda: len(self.arrived) == first + count)
        return self.arrived[first + round(1 / STEADY_PERIOD_S) :]

    def parts_ms(self, arrival: _Arrival) -> dict[str, float]:
        """Return where the time of a record went that was alone in its batch."""
        _wait(lambda: self._progress(arrival.batch_id))  # Spark reports it when all is written down
        found = self._progress(arrival.batch_id)[0]
        begun_s = datetime.fromisoformat(found.timestamp.replace("Z", "+00:00")).timestamp()
        spent = found.durationMs
        planned = (begun_s - arrival.put_s) * 1000 + spent.get("latestOffset", 0)
        kept = sum(spent.get(name, 0) for name in ("walCommit", "queryPlanning", "getBatch"))
        return {
            "until planned": planned,
            "Spark's bookkeeping": kept,
            "task and sink": arrival.ms - planned - kept,
        }

    def _progress(self, batch_id: int) -> list[StreamingQueryProgress]:
        """Return what Spark reports of a batch that ran; it reports idle moments by the number of the next batch."""
        return [p for p in self._query.recentProgress if p.batchId == batch_id and "addBatch" in p.durationMs]

    def stop(self) -> None:
        self._query.stop()


@frozen
class _Found:
    """Latencies of ours and of the floor, in milliseconds, and the parts of those of an idle query."""

    idle: tuple[list[float], list[float]]
    loaded: tuple[list[float], list[float]]
    parts: tuple[list[dict[str, float]], list[dict[str, float]]]

    def rows(self, trigger: str) -> Iterator[Row]:
        for state, (ours, floor) in (("idle", self.idle), ("20 records/s", self.loaded)):
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                mine, its = _percentile(ours, share), _percentile(floor, share)
                target = TARGET if (trigger, state, name) == ("0 seconds", "idle", "p50") else None
                yield Row(
                    GROUP,
                    f"trigger {trigger}, {state}, {name}",
                    "ms",
                    mine,
                    its,
                    mine / its,
                    target,
                    is_cost=True,
                )

    def steady(self) -> dict[str, list[float]]:
        return dict(zip(("ours", "floor"), self.loaded, strict=True))


class _Bench:
    def __init__(self, spark: SparkSession, directory: Path, emulator: Emulator) -> None:
        self._spark, self._directory, self._emulator = spark, directory, emulator
        self._client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, **_KEYS)
        self.idle_calls_a_second = 0.0

    def measure(self, trigger: str) -> _Found:
        """Measure both queries in turns, which run side by side and are idle in each other's."""
        ours, floor = probes = self._probes(trigger.partition(" ")[0])
        for probe in probes:
            probe.start(trigger)
        idle = [(self._one(ours, i), self._one(floor, i)) for i in range(RECORDS)][WARM_UP:]
        parts = [tuple(probe.parts_ms(a) for probe, a in zip(probes, pair, strict=True)) for pair in idle]
        loaded = [[a.ms for a in probe.send_many()] for probe in probes]
        floor.stop()
        self.idle_calls_a_second = self._idle_calls_a_second()
        ours.stop()
        return _Found(
            ([mine.ms for mine, _ in idle], [its.ms for _, its in idle]),
            (loaded[0], loaded[1]),
            ([mine for mine, _ in parts], [its for _, its in parts]),
        )

    def _probes(self, name: str) -> tuple[_Probe, _Probe]:
        stream, file = f"orders-{name}", self._directory / f"records-{name}"
        self._emulator.create_stream(stream, 1)
        file.touch()
        ours = {"streamName": stream, "endpointUrl": self._emulator.endpoint_url, **_OPTIONS}
        return (
            _Probe(
                self._spark, self._directory / stream, "kinesis", ours, lambda data: self._put(stream, data)
            ),
            _Probe(
                self._spark,
                self._directory / f"handed-{name}",
                "handed",
                {"file": str(file)},
                lambda data: _append(file, data),
            ),
        )

    def _put(self, stream: str, data: bytes) -> None:
        self._client.put_record(StreamName=stream, Data=data, PartitionKey="k")

    def _one(self, probe: _Probe, turn: int) -> _Arrival:
        time.sleep(PAUSE_S + 0.037 * turn)  # at odd moments of the polling period
        return probe.send_one()

    def _idle_calls_a_second(self) -> float:
        before, begun_s = self._emulator.calls.count("GetRecords"), time.monotonic()
        time.sleep(IDLE_S)
        return (self._emulator.calls.count("GetRecords") - before) / (time.monotonic() - begun_s)


def _append(file: Path, data: bytes) -> None:
    with file.open("ab") as records:
        records.write(data + b"\n")


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _curve(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(percent, _percentile(values, percent / 100)) for percent in range(0, 100, 3)]


def _breakdown(found: _Found) -> str:
    """Return a table of where the time goes."""
    ours, floor = found.parts
    lines = [
        "Where the time of a record goes that comes to an idle query with trigger 0, in ms, medians. A shard without news is looked at",
        "every 0.4 s, half as often as its quota allows, so that `until planned` is 0.2 s of waiting in the mean and one call.",
        "",
        "| | ours | floor |",
        "| --- | ---: | ---: |",
    ]
    for name in ours[0]:
        mine, its = (statistics.median(parts[name] for parts in side) for side in (ours, floor))
        lines.append(f"| {name} | {mine:,.0f} | {its:,.0f} |")
    return "\n".join(lines)


def _wait(is_done: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError("the query did not get there in time")
        time.sleep(0.002)


if __name__ == "__main__":
    show(run())
