"""A streaming query that records when each record arrives in its sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from attrs import define, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

DEADLINE_S = 120.0


@frozen
class Arrival:
    """The arrival of a record in the sink. Times are seconds since the epoch."""

    put_s: float
    arrived_s: float
    batch_id: int

    @property
    def ms(self) -> float:
        return (self.arrived_s - self.put_s) * 1000


@define
class Probe:
    """The query. The payload of a record is the time when it was put."""

    spark: SparkSession
    checkpoint: Path
    source: str
    options: dict[str, str]
    put: Callable[[bytes], None]
    arrived: list[Arrival] = field(factory=list)
    _query: StreamingQuery = field(init=False)

    def start(self, trigger: str) -> None:
        frame = self.spark.readStream.format(self.source).options(**self.options).load()
        writer = frame.writeStream.foreachBatch(self._note).trigger(processingTime=trigger)
        self._query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        wait(lambda: (self.checkpoint / "commits" / "0").exists())

    def _note(self, frame: DataFrame, batch_id: int) -> None:
        rows, now_s = frame.collect(), time.time()
        self.arrived += [Arrival(float(row.data), now_s, batch_id) for row in rows]

    def send(self) -> None:
        self.put(repr(time.time()).encode())

    def send_one(self) -> Arrival:
        """Put a record for an idle query, and wait until it arrives."""
        count = len(self.arrived)
        self.send()
        wait(lambda: len(self.arrived) > count)
        return self.arrived[-1]

    def send_many(self, count: int, period_s: float) -> list[Arrival]:
        """Put records one after another, and return all arrivals when the last one is there."""
        first = len(self.arrived)
        for _ in range(count):
            self.send()
            time.sleep(period_s)
        wait(lambda: len(self.arrived) == first + count)
        return self.arrived[first:]

    def parts_ms(self, arrival: Arrival) -> dict[str, float]:
        """Return the parts of the latency of a record that was alone in its batch."""
        wait(lambda: self._progress(arrival.batch_id))  # Spark reports a batch after it has written its logs
        found = self._progress(arrival.batch_id)[0]
        started_s = datetime.fromisoformat(found.timestamp.replace("Z", "+00:00")).timestamp()
        spent = found.durationMs
        planned = (started_s - arrival.put_s) * 1000 + spent.get("latestOffset", 0)
        kept = sum(spent.get(name, 0) for name in ("walCommit", "queryPlanning", "getBatch"))
        return {
            "until planned": planned,
            "Spark's bookkeeping": kept,
            "task and sink": arrival.ms - planned - kept,
        }

    def _progress(self, batch_id: int) -> list[StreamingQueryProgress]:
        """Return Spark's reports of a batch that ran. Its reports of idle moments have the number of the next batch."""
        return [p for p in self._query.recentProgress if p.batchId == batch_id and "addBatch" in p.durationMs]

    def stop(self) -> None:
        self._query.stop()


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def wait(is_done: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError("the query did not get there in time")
        time.sleep(0.002)
