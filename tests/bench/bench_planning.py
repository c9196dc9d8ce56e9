"""
The cost of planning a micro-batch: calls, CPU time and time, by the number of shards, over HTTPS with 10 ms per call.

    python -m tests.bench.bench_planning
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from attrs import define, frozen

from kinesis_core.aws import Connection, StreamRef, stream_client
from kinesis_core.clock import SystemClock
from kinesis_core.model import Offset, TrimHorizon
from kinesis_core.planning import Limits, PlanAhead, Planner, PlanSettings
from kinesis_credentials import StaticKeys
from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.harness import Finding, Plot, Row, in_own_process, show
from tests.bench.memory import MB, peak_bytes
from tests.bench.server import Server, TlsFiles, trusted_certificate

GROUP = "Planning"
SHARDS = (1, 10, 100, 1000, 10_000)
LATENCY_S = 0.01
RECORDS_PER_S = 1000.0
"""The maximum rate of a shard. In 2 seconds more records come than a plan reads to see whether the shard is idle."""
PERIOD_S = 2.0
"""The period of the plans, unless planning itself takes longer."""
LASTS_S = 400
"""How long records come: longer than any measurement takes."""
ONE_RECORD_PER_S = 1e-6
PLANS = 3
WARM_UP = 2
"""The first plan does not know yet which shards are busy, and an idle shard still has its only record."""
QUOTA_CALLS = 5.0
MANY = 1000
MANY_CPU_S = 1.5
BATCH_S = 5.0
"""The least time in which Spark processes the records of a thousand busy shards in as many seconds."""
THREADS = 8
"""The default of `planningThreads`."""
WHOLE = PlanSettings(Limits(max_records=100_000), plan_budget_s=None)


@frozen
class Cost:
    """The median cost of planning one batch. Calls are those of GetRecords per shard."""

    calls: float
    calls_per_s: float
    cpu_s: float
    time_s: float
    memory_mb: float
    """The most that the process has of it."""


def run() -> list[Finding]:
    """Return the rows by number of shards, and a plot of CPU time and time."""
    with trusted_certificate() as tls:
        busy = {shards: in_own_process(cost, tls, shards, RECORDS_PER_S) for shards in SHARDS}
        idle = {shards: in_own_process(cost, tls, shards, ONE_RECORD_PER_S) for shards in SHARDS}
        waited = _waited(tls)
    rows = [
        row
        for name, costs in (("busy", busy), ("idle", idle))
        for n in SHARDS
        for row in _rows(n, name, costs[n])
    ]
    return [*rows, waited, _plot(busy, idle)]


def _rows(shards: int, name: str, cost: Cost) -> Iterator[Row]:
    case = f"{shards:,} {name} shard{'' if shards == 1 else 's'}"
    share_s = MANY_CPU_S * shards / MANY
    target = 1.0 if shards == MANY and name == "busy" else None
    calls = "GetRecords/s and shard, vs. the quota"
    yield Row.cost(GROUP, f"{case}: calls", calls, cost.calls_per_s, QUOTA_CALLS, 1.0)
    versus, memory_mb = "s a batch, vs. 1.5 ms a shard", (cost.memory_mb,)
    yield Row.cost(GROUP, f"{case}: CPU", versus, cost.cpu_s, share_s, target, memory_mb)
    yield Row.cost(GROUP, f"{case}: time", "s a batch, vs. one of 2 s", cost.time_s, PERIOD_S)


def cost(tls: TlsFiles, shards: int, records_per_s: float) -> Cost:
    with query_of(tls, shards, records_per_s) as query:
        plans = [query.batch() for _ in range(WARM_UP + (PLANS if shards <= MANY else 1))][WARM_UP:]
    calls, calls_per_s, cpu_s, time_s = (statistics.median(values) for values in zip(*plans, strict=True))
    return Cost(calls, calls_per_s, cpu_s, time_s, peak_bytes() / MB)


def _waited(tls: TlsFiles) -> Row:
    """Return how long a query waits for its plans, compared with the time to make one."""
    with query_of(tls, MANY, RECORDS_PER_S) as query:
        plans, waited_s = PlanAhead(query.planner, SystemClock()), []
        with closing(plans):
            for _ in range(WARM_UP + 1 + PLANS):
                started_s = time.monotonic()
                query.start = plans.next_offset(query.start)
                waited_s.append(time.monotonic() - started_s)
                time.sleep(BATCH_S)
    ours_s, planning_s = statistics.median(waited_s[-PLANS:]), query.planner.last_plan.planning_s
    case = f"{MANY:,} busy shards, batches of {BATCH_S:g} s: waited for"
    return Row.cost(GROUP, case, "s a batch, vs. planning", ours_s, planning_s, 0.1)


@define
class Query:
    """Plans the batches of a stream that another process serves."""

    kinesis: Server
    planner: Planner
    shards: int
    start: Offset

    def batch(self) -> tuple[float, float, float, float]:
        """Plan a batch, and wait until the next one is due. Return its cost, in the order of the fields of `Cost`, without memory."""
        before = self.kinesis.calls().get("GetRecords", 0)
        started_s, cpu_s = time.monotonic(), time.process_time()
        self.start = self.planner.next_offset(self.start)
        time_s, cpu_s = self.planner.last_plan.planning_s, time.process_time() - cpu_s
        calls = (self.kinesis.calls()["GetRecords"] - before) / self.shards
        time.sleep(max(0.0, PERIOD_S - (time.monotonic() - started_s)))
        return calls, calls / (time.monotonic() - started_s), cpu_s, time_s


@contextmanager
def query_of(
    tls: TlsFiles,
    shards: int,
    records_per_s: float,
    settings: PlanSettings = WHOLE,
    threads: int = THREADS,
) -> Iterator[Query]:
    """Yield a query on a stream of so many shards, each of which gets *records_per_s*."""
    pages = max(1, int(LASTS_S * records_per_s / 1000))
    stream = CannedStream(
        shards=shards, pages=pages, records=1000, record_bytes=100, records_per_s=records_per_s
    )
    with canned_kinesis(stream, latency_s=LATENCY_S, tls=tls) as kinesis:
        ref = StreamRef(stream.name)
        keys = StaticKeys("invented", "invented")
        connection = Connection((ref,), stream.region, kinesis.endpoint_url, keys)
        with closing(
            Planner({stream.name: stream_client(connection, ref)}, settings, threads=threads)
        ) as planner:
            yield Query(kinesis, planner, shards, planner.initial_offset(TrimHorizon()))


def _plot(busy: Mapping[int, Cost], idle: Mapping[int, Cost]) -> Plot:
    lines = {
        "busy, time": [(n, cost.time_s) for n, cost in busy.items()],
        "busy, CPU": [(n, cost.cpu_s) for n, cost in busy.items()],
        "idle, time": [(n, cost.time_s) for n, cost in idle.items()],
        "idle, CPU": [(n, cost.cpu_s) for n, cost in idle.items()],
    }
    return Plot("planning", "What planning a micro-batch takes", "shards", "seconds a batch", lines, log="xy")


if __name__ == "__main__":
    show(run())
