"""
The time from put to sink, compared with the same query over a source that is handed the record. Also the cost of an idle
query, and of a trickle of records.

    python -m tests.bench.bench_latency
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
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
ALL = {"quotaShare": "1"}
BELL = {"wakeConsumer": "bell"}
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "trigger 0 seconds": ("0 seconds", {}),
    "trigger 0 seconds, quotaShare=1": ("0 seconds", ALL),
    "trigger 0 seconds, wakeConsumer": ("0 seconds", BELL),
    "trigger 1 second": ("1 second", {}),
}
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
"""For the median of an idle query that may make all calls of a shard's quota."""
WAIT_MS = 200
"""The mean wait of a record if an idle shard is looked at 2.5 times a second: no spacing of the looks has a shorter one."""
WAIT_TARGET = 1.1
"""For the median with half of the quota, against the floor with that wait."""
QUOTA_CALLS = 5.0
SHARE_TARGET = 0.52
"""For the calls with half of the quota."""
ABOUT_PARTS = """\
The parts of the latency of a record that comes to an idle query with trigger 0, in ms, medians. An idle shard is polled
every 0.4 s, half as often as its quota allows. So `until planned` is 0.2 s of waiting in the mean, and one call.
"""
_SESSION = {**PRODUCTION, "spark.sql.streaming.pollingDelay": "10ms"}


def run() -> list[Finding]:
    with Emulator() as emulator, spark_session(HandedSource, config=_SESSION) as (spark, directory):
        bench = _Bench(spark, directory, emulator)
        runs = {case: bench.measure(*given) for case, given in CASES.items()}
        trickle = [*measure_trickle(spark, directory)]
    rows = [row for case, found in runs.items() for row in found.rows(case, *CASES[case])]
    lines = {
        f"{name}, {case}": _curve(values)
        for case, found in runs.items()
        for name, values in found.steady().items()
    }
    plot = Plot("latency", "Put to sink at 20 records a second", "percentile", "ms", lines)
    return [*rows, plot, Note(_breakdown(runs["trigger 0 seconds"])), *trickle]


@frozen
class _Found:
    """Latencies of ours and of the floor in milliseconds, and their parts in an idle query."""

    idle: tuple[list[float], list[float]]
    loaded: tuple[list[float], list[float]]
    parts: tuple[list[dict[str, float]], list[dict[str, float]]]
    idle_calls_a_second: float
    """Our calls of GetRecords while no record comes."""
    loaded_calls_a_second: float
    """Our calls of GetRecords, with those of tasks, while records come."""

    def rows(self, case: str, trigger: str, options: dict[str, str]) -> Iterator[Row]:
        for state, (ours, floor) in (("idle", self.idle), ("20 records/s", self.loaded)):
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                mine, its = percentile(ours, share), percentile(floor, share)
                is_bound = (trigger, state, name) == ("0 seconds", "idle", "p50")
                target = TARGET if is_bound and options else None
                yield Row.cost(GROUP, f"{case}, {state}, {name}", "ms", mine, its, target)
                if is_bound and not options:
                    name = f"{case}, {state}, {name}: floor and {WAIT_MS} ms"
                    yield Row.cost(GROUP, name, "ms", mine, its + WAIT_MS, WAIT_TARGET)
        target = 1.0 if options else SHARE_TARGET
        for state, calls in (
            ("idle", self.idle_calls_a_second),
            ("20 records/s", self.loaded_calls_a_second),
        ):
            name = f"{case}, {state}: GetRecords per shard"
            yield Row.cost(GROUP, name, "calls/s, quota 5", calls, QUOTA_CALLS, target)

    def steady(self) -> dict[str, list[float]]:
        return dict(zip(("ours", "floor"), self.loaded, strict=True))


class _Bench:
    def __init__(self, spark: SparkSession, directory: Path, emulator: Emulator) -> None:
        self._spark, self._directory, self._emulator = spark, directory, emulator
        self._client = make_client(emulator.endpoint_url)

    def measure(self, trigger: str, options: dict[str, str]) -> _Found:
        """Measure both queries in turns. Each is idle during the other's turn."""
        ours, floor = probes = self._probes("-".join([trigger.partition(" ")[0], *options]), options)
        for probe in probes:
            probe.start(trigger)
        idle = [(self._one(ours, i), self._one(floor, i)) for i in range(RECORDS)][WARM_UP:]
        parts = [tuple(probe.parts_ms(a) for probe, a in zip(probes, pair, strict=True)) for pair in idle]
        its_loaded = _steady_ms(floor)
        floor.stop()
        loaded: list[float] = []
        loaded_calls = self._calls_a_second(lambda: loaded.extend(_steady_ms(ours)))
        idle_calls = self._calls_a_second(lambda: time.sleep(IDLE_S))
        ours.stop()
        return _Found(
            ([mine.ms for mine, _ in idle], [its.ms for _, its in idle]),
            (loaded, its_loaded),
            ([mine for mine, _ in parts], [its for _, its in parts]),
            idle_calls,
            loaded_calls,
        )

    def _probes(self, name: str, options: dict[str, str]) -> tuple[Probe, Probe]:
        stream, file = f"orders-{name}", self._directory / f"records-{name}"
        self._emulator.create_stream(stream, 1)
        file.touch()
        ours = {"streamName": stream, **self._emulator.spark_options, **options}
        its = {"file": str(file)}
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

    def _calls_a_second(self, work: Callable[[], object]) -> float:
        before, started_s = self._emulator.calls.count("GetRecords"), time.monotonic()
        work()
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
