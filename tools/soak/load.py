"""A query at constant load: it copies records from one stream to another, one round at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, field, frozen
from pyspark.sql import SparkSession, functions
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_core.producing import Producer
from kinesis_emulator import EmulatorProcess
from support.python_starts import PatientQuery
from support.streams import connection_to
from tools.soak.processes import look
from tools.soak.verdict import Look

SHARDS = 3
ROUND_RECORDS, RECORD_BYTES = 240, 1000
"""Enough bytes per round that a leak of a round's records, or of a page, shows within tens of batches."""
CAPACITY_RECORDS = 8
"""Aggregates that a shard of the emulator keeps: those of some rounds. The query is never two rounds behind."""
LOOK_EVERY = 5
OBSERVED = "read"


@define
class Load:
    """A query from the stream `orders` to the stream `copies`, and its producer, in this process."""

    spark: SparkSession
    emulator: EmulatorProcess
    checkpoint: Path
    records: int = field(default=0, init=False)
    """The number of records put."""
    impatience: int = field(default=0, init=False)
    """How often the query was started again because Spark gave up a new Python process."""
    rows: int = field(default=0, init=False)
    """The number of records that the query has read."""
    sums: tuple[int, int] = field(default=(0, 0), init=False)
    """The sums of the numbers in them, and of their squares: so no record stands for another one."""
    _producer: Producer = field(init=False)
    _running: PatientQuery | None = field(default=None, init=False)
    _last_batch: int = field(default=-1, init=False)

    def __attrs_post_init__(self) -> None:
        self._producer = Producer.open("orders", **connection_to(self.emulator.endpoint_url))

    @property
    def batches(self) -> int:
        return self._last_batch + 1

    def start(self) -> None:
        reader = self.spark.readStream.format("kinesis").options(**self._options("orders"))
        number = functions.col("data").cast("string").cast("bigint")
        sums = functions.sum(number).alias("numbers"), functions.sum(number * number).alias("squares")
        rows = reader.load().observe(OBSERVED, *sums)
        writer = rows.writeStream.format("kinesis").options(**self._options("copies"))
        self._running = PatientQuery(writer.option("checkpointLocation", str(self.checkpoint)).start)

    def _options(self, stream: str) -> dict[str, Any]:
        reading = {"startingPosition": "TRIM_HORIZON", "minFetchPeriod": "20 ms"}
        return {
            "streamName": stream,
            **self.emulator.spark_options,
            **(reading if stream == "orders" else {}),
        }

    def run_round(self) -> None:
        """Put a round of records, and wait until the query has copied it."""
        numbers = range(self.records, self.records + ROUND_RECORDS)
        self._producer.put_columns([b"%0*d" % (RECORD_BYTES, number) for number in numbers])
        self._producer.flush()
        self.records += ROUND_RECORDS
        assert self._running is not None, "call start() first"
        starts = self._running.starts
        self._running.do(StreamingQuery.processAllAvailable)
        self.impatience += self._running.starts - starts
        for progress in self._running.query.recentProgress:
            if progress.batchId > self._last_batch:
                self._last_batch = progress.batchId
                self.rows += progress.numInputRows
                if progress.numInputRows:
                    read, squares = progress.observedMetrics[OBSERVED]
                    self.sums = self.sums[0] + read, self.sums[1] + squares

    def stop(self) -> None:
        if self._running is not None:
            self._running.query.stop()

    def close(self) -> None:
        self.stop()
        self._producer.close()


@frozen
class Measured:
    """The measurements of a run."""

    restarts: list[Look]
    batches: list[Look]
    records: int
    rows: int
    sums: tuple[int, int]
    impatience: int
    hours: float


def run(load: Load, restarts: int, batches: int, minutes: float) -> Measured:
    """Restart the query *restarts* times, then let it run for *batches*, spread over the rest of the *minutes*."""
    started_s = time.monotonic()
    restarted = [*_restart(load, restarts)]
    load.start()
    left_s = max(0.0, started_s + 60 * minutes - time.monotonic())
    ran = [*_run_batches(load, batches, left_s / batches)]
    load.close()
    return Measured(
        restarted,
        ran,
        load.records,
        load.rows,
        load.sums,
        load.impatience,
        (time.monotonic() - started_s) / 3600,
    )


def _restart(load: Load, restarts: int) -> Iterator[Look]:
    for restart in range(restarts):
        load.start()
        load.run_round()
        load.run_round()
        yield Look(restart, look())
        load.stop()


def _run_batches(load: Load, batches: int, period_s: float) -> Iterator[Look]:
    started_s = time.monotonic()
    first = seen = load.batches
    while load.batches - first < batches:
        due_s = started_s + period_s * (load.batches - first)
        time.sleep(max(0.0, due_s - time.monotonic()))  # keeps the rate steady
        load.run_round()
        if load.batches - seen >= LOOK_EVERY:
            seen = load.batches
            yield Look(seen - first, look())
    yield Look(load.batches - first, look())
