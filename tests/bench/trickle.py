"""The cost of a trickle of records with the default trigger, and their latency: with and without waiting for more records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen
from pyspark.sql import SparkSession

from kinesis_emulator import EmulatorProcess
from tests.bench.harness import Row, in_own_process
from tests.bench.latency_probe import Arrival, Probe, percentile
from tests.bench.process_tree import cpu_s, largest_mb
from tests.bench.sessions import PRODUCTION, spark_session
from tests.support.streams import StreamUnderTest

WAITING = {"minRecordsPerTrigger": "1000", "maxTriggerDelay": "5s"}
"""More records than come during the delay, so the delay decides."""
GROUP = f"A trickle of 10 records/s: {', '.join(f'{name}={value}' for name, value in WAITING.items())}, or default"
ALL = {"quotaShare": "1"}
GOALS_MS = {"p50": (0.5, 260.0), "p99": (0.99, 450.0)}
"""With all calls of a shard's quota, on a machine that does nothing else."""
_CASES: dict[str, dict[str, str]] = {"waiting": WAITING, "default": {}, "all": ALL}
PERIOD_S = 0.1
WARM_UP_S = 10.0
MEASURED_S = 25.0
TURNS = 2


@frozen
class _Turn:
    """CPU seconds and elapsed seconds of one turn of one query, and its records."""

    cpu_s: float
    elapsed_s: float
    arrivals: list[Arrival]


def measure_trickle(spark: SparkSession, directory: Path) -> Iterator[Row]:
    """Run a query with the options and one without them in turns, and yield rows that compare both."""
    with EmulatorProcess() as emulator:
        turns = [
            [_turn(spark, directory, emulator, f"{name}-{turn}", options) for name, options in _CASES.items()]
            for turn in range(TURNS)
        ]
    waiting, default, every = ([each[i] for each in turns] for i in range(3))
    waiting_mb, default_mb, every_mb = (in_own_process(_largest_mb, name) for name in _CASES)
    cores = _cores(waiting), _cores(default)
    yield Row.cost(GROUP, "CPU of the query", "share of a core", *cores, memory_mb=(waiting_mb, default_mb))
    yield Row.cost(GROUP, "batches", "batches/s", _batches_a_second(waiting), _batches_a_second(default))
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        mine, its = _latency_ms(waiting, share), _latency_ms(default, share)
        yield Row.cost(GROUP, f"put to sink, {name}", "ms", mine, its)
    group = "A trickle of 10 records/s, with quotaShare=1"
    case, cores = "CPU of the query, against default", (_cores(every), _cores(default))
    yield Row.cost(group, case, "share of a core", *cores, memory_mb=(every_mb, default_mb))
    for name, (share, goal_ms) in GOALS_MS.items():
        yield Row.cost(
            group, f"put to sink, {name}, against the goal", "ms", _latency_ms(every, share), goal_ms, 1.0
        )


def _largest_mb(name: str) -> float:
    """Return the largest memory of a new session with one of the queries: what others leave in the JVM does not count."""
    with EmulatorProcess() as emulator, spark_session(config=PRODUCTION) as (spark, directory):
        return largest_mb(lambda: _turn(spark, directory, emulator, name, _CASES[name]), [emulator.pid])


def _turn(
    spark: SparkSession, directory: Path, emulator: EmulatorProcess, name: str, options: dict[str, str]
) -> _Turn:
    client = StreamUnderTest(emulator.endpoint_url, name).client
    given = {"streamName": name, **emulator.spark_options, **options}

    def put(data: bytes) -> None:
        client.put_record(StreamName=name, Data=data, PartitionKey="k")

    probe = Probe(spark, directory / f"trickle-{name}", "kinesis", given, put)
    probe.start("0 seconds")
    probe.send_many(round(WARM_UP_S / PERIOD_S), PERIOD_S)
    arrivals: list[Arrival] = []
    started_s, sending_s = time.monotonic(), time.thread_time()
    spent_s = cpu_s(
        lambda: arrivals.extend(probe.send_many(round(MEASURED_S / PERIOD_S), PERIOD_S)), [emulator.pid]
    )
    # The thread that sends is not part of the query.
    spent_s, elapsed_s = spent_s - (time.thread_time() - sending_s), time.monotonic() - started_s
    turn = _Turn(spent_s, elapsed_s, arrivals)
    probe.stop()
    return turn


def _cores(turns: list[_Turn]) -> float:
    return sum(turn.cpu_s for turn in turns) / sum(turn.elapsed_s for turn in turns)


def _batches_a_second(turns: list[_Turn]) -> float:
    return sum(len({a.batch_id for a in turn.arrivals}) for turn in turns) / sum(t.elapsed_s for t in turns)


def _latency_ms(turns: list[_Turn], share: float) -> float:
    return percentile([arrival.ms for turn in turns for arrival in turn.arrivals], share)
