"""
The time from put to sink, compared with the same query over a source that is handed the record. Also the cost of an idle
query, and of a trickle of records.

    python -m tests.bench.bench_latency
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from tests.bench.handed_source import HandedSource
from tests.bench.harness import Finding, Note, Plot, Row, show, table
from tests.bench.latency_probe import Arrival, Probe, percentile
from tests.bench.sessions import PRODUCTION, spark_session
from tests.bench.trickle import measure_trickle
from tests.support.streams import make_client

GROUP = "Put to sink"
TRIGGERS = ("0 seconds", "1 second")
RECORDS = 27
"""How long a record waits for the next poll is random, so the median of fewer records is not stable."""
WARM_UP = 3
"""The JVM compiles during the first batches."""
PAUSE_S = 1.0
"""The query becomes idle between two records."""
STEADY_S = 8.0
STEADY_PERIOD_S = 0.05
IDLE_S = 10.0
TARGET = 2.0
QUOTA_CALLS = 5.0
ABOUT_PARTS = """\
The parts of the latency of a record that comes to an idle query with trigger 0, in ms, medians. An idle shard is polled
every 0.4 s, half as often as its quota allows. So `until planned` is 0.2 s of waiting in the mean, and one call.
"""
_SESSION = {**PRODUCTION, "spark.sql.streaming.pollingDelay": "10ms"}


def run() -> list[Finding]:
    with Emulator() as emulator, spark_session(HandedSource, config=_SESSION) as (spark, directory):
        bench = _Bench(spark, directory, emulator)
        runs = {trigger: bench.measure(trigger) for trigger in TRIGGERS}
        trickle = [*measure_trickle(spark, directory)]
    rows = [row for trigger, found in runs.items() for row in found.rows(trigger)]
    lines = {
        f"{name}, trigger {trigger}": _curve(values)
        for trigger, found in runs.items()
        for name, values in found.steady().items()
    }
    plot = Plot("latency", "Put to sink at 20 records a second", "percentile", "ms", lines)
    return [*rows, plot, Note(_breakdown(runs["0 seconds"])), *trickle]


@frozen
class _Found:
    """Latencies of ours and of the floor in milliseconds, and their parts in an idle query."""

    idle: tuple[list[float], list[float]]
    loaded: tuple[list[float], list[float]]
    parts: tuple[list[dict[str, float]], list[dict[str, float]]]
    idle_calls_a_second: float
    """Our calls of GetRecords while no record comes."""

    def rows(self, trigger: str) -> Iterator[Row]:
        for state, (ours, floor) in (("idle", self.idle), ("20 records/s", self.loaded)):
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                mine, its = percentile(ours, share), percentile(floor, share)
                target = TARGET if (trigger, state, name) == ("0 seconds", "idle", "p50") else None
                yield Row.cost(GROUP, f"trigger {trigger}, {state}, {name}", "ms", mine, its, target)
        case = f"trigger {trigger}, idle: GetRecords per shard"
        yield Row.cost(GROUP, case, "calls/s, quota 5", self.idle_calls_a_second, QUOTA_CALLS, 1.0)

    def steady(self) -> dict[str, list[float]]:
        return dict(zip(("ours", "floor"), self.loaded, strict=True))


class _Bench:
    def __init__(self, spark: SparkSession, directory: Path, emulator: Emulator) -> None:
        self._spark, self._directory, self._emulator = spark, directory, emulator
        self._client = make_client(emulator.endpoint_url)

    def measure(self, trigger: str) -> _Found:
        """Measure both queries in turns. Each is idle during the other's turn."""
        ours, floor = probes = self._probes(trigger.partition(" ")[0])
        for probe in probes:
            probe.start(trigger)
        idle = [(self._one(ours, i), self._one(floor, i)) for i in range(RECORDS)][WARM_UP:]
        parts = [tuple(probe.parts_ms(a) for probe, a in zip(probes, pair, strict=True)) for pair in idle]
        loaded = [_steady_ms(probe) for probe in probes]
        floor.stop()
        calls_a_second = self._idle_calls_a_second()
        ours.stop()
        return _Found(
            ([mine.ms for mine, _ in idle], [its.ms for _, its in idle]),
            (loaded[0], loaded[1]),
            ([mine for mine, _ in parts], [its for _, its in parts]),
            calls_a_second,
        )

    def _probes(self, name: str) -> tuple[Probe, Probe]:
        stream, file = f"orders-{name}", self._directory / f"records-{name}"
        self._emulator.create_stream(stream, 1)
        file.touch()
        ours, its = {"streamName": stream, **self._emulator.spark_options}, {"file": str(file)}
        checkpoint, handed = self._directory / stream, self._directory / f"handed-{name}"
        return (
            Probe(self._spark, checkpoint, "kinesis", ours, lambda data: self._put(stream, data)),
            Probe(self._spark, handed, "handed", its, lambda data: _append(file, data)),
        )

    def _put(self, stream: str, data: bytes) -> None:
        self._client.put_record(StreamName=stream, Data=data, PartitionKey="k")

    def _one(self, probe: Probe, turn: int) -> Arrival:
        time.sleep(PAUSE_S + 0.037 * turn)  # at varying moments of the polling period
        return probe.send_one()

    def _idle_calls_a_second(self) -> float:
        before, started_s = self._emulator.calls.count("GetRecords"), time.monotonic()
        time.sleep(IDLE_S)
        return (self._emulator.calls.count("GetRecords") - before) / (time.monotonic() - started_s)


def _steady_ms(probe: Probe) -> list[float]:
    """Put records one after another, and return the latencies of those after the first second."""
    arrivals = probe.send_many(round(STEADY_S / STEADY_PERIOD_S), STEADY_PERIOD_S)
    return [arrival.ms for arrival in arrivals[round(1 / STEADY_PERIOD_S) :]]


def _append(file: Path, data: bytes) -> None:
    with file.open("ab") as records:
        records.write(data + b"\n")


def _curve(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(percent, percentile(values, percent / 100)) for percent in range(0, 100, 3)]


def _breakdown(found: _Found) -> str:
    """Return a table of the parts of the latency."""
    ours, floor = found.parts
    medians = (
        [name, *(f"{statistics.median(parts[name] for parts in side):,.0f}" for side in (ours, floor))]
        for name in ours[0]
    )
    return f"{ABOUT_PARTS}\n{table(['', 'ours', 'floor'], medians)}"


if __name__ == "__main__":
    show(run())
