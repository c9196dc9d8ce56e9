"""
Reading in Spark to `noop`, over HTTPS: ours in JSON and in CBOR, a source written by hand, and the floor.

    python -m tests.bench.bench_read
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import ClassVar

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from tests.bench.by_hand import ByHandSource
from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.harness import Finding, Note, Plot, Row, in_own_process, one_core, show
from tests.bench.process_tree import cpu_s, largest_mb
from tests.bench.raw_reader import RawReader
from tests.bench.read_steps import measure_steps, steps_table
from tests.bench.ready_source import ReadySource
from tests.bench.server import Server, TlsFiles, trusted_certificate
from tests.bench.sessions import spark_session
from tests.support.streams import KEY_ID, SECRET

TURNS = 5
WARM_UP = 1
"""The JVM still compiles after the check."""
SHARDS = 16
SHARDS_BY_HAND = 2
"""A share of the shards takes the source by hand as long as all of them take ours, so fixed costs have the same weight."""
US = "µs of CPU per record"
SOURCES = (ByHandSource, ReadySource)


WHY = """\
The floor does not sign calls, does not read each response into new memory, does not check pages, and has its record batches ready,
which counts most. A task's threads take the sum of these steps. The rest of a batch is Spark's, and the fixed cost of a query: its
shards are listed and planned in a Python worker, which imports the modules for that.
"""


@frozen
class Case:
    """A stream to read, and how much cheaper than by hand that must be."""

    name: str
    stream: CannedStream
    target: float | None


CASES = (
    Case("100 B", CannedStream(shards=SHARDS, pages=10, records=10_000, record_bytes=100), 12),
    Case("1 KB", CannedStream(shards=SHARDS, pages=20, records=1000, record_bytes=1000), 4),
    Case("10 KB", CannedStream(shards=SHARDS, pages=3, records=1000, record_bytes=10_000), 2),
    Case(
        "100 B, aggregated",
        CannedStream(shards=SHARDS, pages=10, records=20, record_bytes=100, user_records=500),
        3.5,
    ),
    Case(
        "1 KB, aggregated",
        CannedStream(shards=SHARDS, pages=20, records=20, record_bytes=1000, user_records=50),
        None,
    ),
)


@frozen
class Spent:
    """Microseconds of CPU per record in one turn."""

    ours: float
    cbor: float
    by_hand: float
    ready: float
    raw: float

    @property
    def floor(self) -> float:
        """The cost of ready batches in Spark, plus that of their bytes in a socket and a decoder."""
        return self.ready + self.raw


@frozen
class Measured:
    """All measurements of one case. Memory is that of all processes of Spark, in MB."""

    turns: list[Spent]
    steps: list[float]
    memory_mb: dict[str, float]

    def median(self, contender: str) -> float:
        return float(statistics.median(getattr(spent, contender) for spent in self.turns))

    def memory(self, ours: str, theirs: str) -> tuple[float, float]:
        return self.memory_mb[ours], self.memory_mb[theirs]

    def pairs(self, ours: str, theirs: str) -> Iterator[tuple[float, float]]:
        """Yield the costs of two contenders in each turn."""
        return ((getattr(spent, ours), getattr(spent, theirs)) for spent in self.turns)


def run() -> list[Finding]:
    with one_core(), trusted_certificate() as tls, spark_session(*SOURCES) as (spark, _):
        measured = {case: _measure(spark, case, tls) for case in CASES}
    steps = steps_table({case.name: found.steps for case, found in measured.items()})
    return [
        *_rows(measured),
        _plot(measured),
        Note(f"Of that, a page takes:\n\n{steps}"),
        Note(WHY),
    ]


def _measure(spark: SparkSession, case: Case, tls: TlsFiles) -> Measured:
    with canned_kinesis(case.stream, tls=tls) as kinesis:
        frames = Frames(spark, case.stream, kinesis.endpoint_url)
        contenders = _Contenders(frames, kinesis, tls)
        contenders.check()
        turns = [contenders.turn() for _ in range(WARM_UP + TURNS)][WARM_UP:]
        memory_mb = {
            name: in_own_process(_largest_mb, case.stream, kinesis.endpoint_url, name)
            for name in Frames.NAMES
        }
        return Measured(turns, measure_steps(frames.options(), tls, case.stream), memory_mb)


def _largest_mb(stream: CannedStream, endpoint_url: str, name: str) -> float:
    """Return the largest memory of a new session that reads once: the JVM and the workers keep what earlier queries took."""
    with spark_session(*SOURCES) as (spark, _):
        frame = Frames(spark, stream, endpoint_url, shards_by_hand=SHARDS).named(name)
        return largest_mb(lambda: _write(frame))


def _write(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


@frozen
class Frames:
    """All ways to read one stream in Spark."""

    NAMES: ClassVar = ("ours", "cbor", "by_hand", "ready")

    spark: SparkSession
    stream: CannedStream
    endpoint_url: str
    shards_by_hand: int = SHARDS_BY_HAND

    def named(self, name: str) -> DataFrame:
        make = {
            "ours": lambda: self._ours("json"),
            "cbor": lambda: self._ours("cbor"),
            "by_hand": self._by_hand,
            "ready": self._ready,
        }
        return make[name]()

    def rows(self, name: str) -> int:
        rows = self.stream.total_rows
        return rows * self.shards_by_hand // SHARDS if name == "by_hand" else rows

    def _ours(self, wire_format: str) -> DataFrame:
        # With the rates of Kinesis it would only wait.
        rates = {"minFetchPeriod": "0", "maxFetchRate": "1000", "wireFormat": wire_format}
        reader = self.spark.read.format("kinesis").options(**self.options(), **rates)
        return reader.option("startingPosition", "TRIM_HORIZON").load()

    def _by_hand(self) -> DataFrame:
        aggregated = str(self.stream.user_records > 0).lower()
        reader = self.spark.read.format("by-hand").options(**self.options(), aggregated=aggregated)
        return reader.option("shards", self.shards_by_hand).load()

    def _ready(self) -> DataFrame:
        stream = self.stream
        sizes = {
            "tasks": 1,
            "batches": stream.shards * stream.pages,
            "rows": stream.page_rows,
            "bytes": stream.record_bytes,
        }
        return self.spark.read.format("ready").options(**sizes).load()

    def options(self) -> dict[str, str]:
        return {
            "streamName": self.stream.name,
            "region": self.stream.region,
            "endpointUrl": self.endpoint_url,
            "awsAccessKeyId": KEY_ID,
            "awsSecretKey": SECRET,
        }


@frozen
class _Contenders:
    """All readers of one stream. A turn runs each of them once."""

    frames: Frames
    kinesis: Server
    tls: TlsFiles

    def check(self) -> None:
        """Check that each of them reads the whole stream. This also warms them up."""
        rows = {name: self.frames.rows(name) for name in Frames.NAMES}
        counts = {name: self.frames.named(name).count() for name in Frames.NAMES}
        if counts != rows:
            raise AssertionError(f"of {rows} rows they read {counts}")

    def turn(self) -> Spent:
        return Spent(**{name: self._us(name) for name in Frames.NAMES}, raw=self._raw_us())

    def _us(self, name: str) -> float:
        frame = self.frames.named(name)
        return cpu_s(lambda: _write(frame), [self.kinesis.pid]) / self.frames.rows(name) * 1e6

    def _raw_us(self) -> float:
        stream = self.frames.stream
        with RawReader(self.kinesis.port, self.tls[0]) as raw:
            spent_s = raw.read_shards(stream.shards)
        return spent_s / stream.total_rows * 1e6


def _rows(measured: dict[Case, Measured]) -> Iterator[Row]:
    for case, found in measured.items():
        ratio = statistics.median(spent.by_hand / spent.ours for spent in found.turns)
        medians = found.median("ours"), found.median("by_hand")
        memory_mb = found.memory("ours", "by_hand")
        group = "read in Spark, against by hand"
        yield Row(group, case.name, US, *medians, ratio, case.target, memory_mb=memory_mb)
    for case, found in measured.items():
        target = None if case.stream.user_records else 1.5  # the floor does not unpack aggregates
        turns = found.pairs("ours", "floor")
        group, memory_mb = "read in Spark, against the floor", found.memory("ours", "ready")
        yield Row.of(group, case.name, US, turns, target, is_cost=True, memory_mb=memory_mb)
    for case, found in measured.items():
        target = 0.85 if case.stream.record_bytes == 10_000 else None
        turns = found.pairs("cbor", "ours")
        group, memory_mb = "read in Spark in CBOR, against JSON", found.memory("cbor", "ours")
        yield Row.of(group, case.name, US, turns, target, is_cost=True, memory_mb=memory_mb)


def _plot(measured: dict[Case, Measured]) -> Plot:
    plain = {
        case.stream.record_bytes: found for case, found in measured.items() if not case.stream.user_records
    }
    lines = {
        name: [(size, found.median(contender)) for size, found in plain.items()]
        for name, contender in (("by hand", "by_hand"), ("ours", "ours"), ("floor", "floor"))
    }
    return Plot("read", "Reading in Spark", "bytes of a record", "µs of CPU per record", lines, "xy")


if __name__ == "__main__":
    show(run())
