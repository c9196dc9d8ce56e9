"""
What 10,000 shards cost one machine: plans over HTTPS with 10 ms per call, offsets, and subscriptions to the emulator.

    python -m tests.bench.bench_ten_thousand_shards
"""

from __future__ import annotations

import json
import random

from attrs import frozen

from kinesis_core.model import After, Offset, ShardOffset, StreamOffset
from kinesis_emulator.numbers import encode, shard_base
from tests.bench import subscriptions
from tests.bench.bench_plan_budget import BUDGETED, MANY_THREADS, MIB, MOST_BYTES, Round, measure
from tests.bench.bench_planning import ONE_RECORD_PER_S, THREADS, WHOLE, cost
from tests.bench.harness import Finding, Note, Row, in_own_process, show, table
from tests.bench.memory import peak_bytes
from tests.bench.server import TlsFiles, trusted_certificate

GROUP = "10,000 shards, against the goal"
SHARDS = 10_000
IDLE_CPU_S, BUSY_CPU_S, OFFSET_BYTES = 1.5, 4.0, 40
NOW_MS, CREATED_S = 1_790_000_000_000, 1_700_000_000


@frozen
class Planned:
    """One line of the table of plans."""

    case: str
    cpu_s: float
    once_s: float
    """After so much planning each shard was planned once."""
    wait_s: float
    """How long a batch waits for its plan, if it is not planned ahead."""
    peak_bytes: int
    """The most that the process had at once, with Python and all libraries."""


def run() -> list[Finding]:
    """Return the tables of the page: plans, the goals, subscriptions."""
    with trusted_certificate() as tls:
        idle = in_own_process(_idle, tls)
        whole = _busy("busy, one plan", in_own_process(measure, tls, SHARDS, WHOLE, THREADS))
        busy = _busy("busy, `planBudget`", in_own_process(measure, tls, SHARDS, BUDGETED, THREADS))
        wide = _busy(
            f"busy, `planBudget`, `planningThreads={MANY_THREADS}`",
            in_own_process(measure, tls, SHARDS, BUDGETED, MANY_THREADS),
        )
    goals = (
        ("an idle plan: CPU", "s", idle.cpu_s, IDLE_CPU_S),
        ("a busy plan: CPU", "s", whole.cpu_s, BUSY_CPU_S),
        ("memory of the planner", "MiB, the whole process", busy.peak_bytes / MIB, MOST_BYTES / MIB),
        ("an offset", "bytes a shard", _offset_bytes() / SHARDS, OFFSET_BYTES),
    )
    return [
        _plans([idle, whole, busy, wide]),
        *(Row.cost(GROUP, what, metric, ours, goal, 1.0) for what, metric, ours, goal in goals),
        *subscriptions.run(),
    ]


def _plans(planned: list[Planned]) -> Note:
    head = ["shards", "CPU, s", "each was planned after, s", "a batch waits, s", "peak of the process, MiB"]
    lines = [
        [p.case, f"{p.cpu_s:.2f}", f"{p.once_s:.1f}", f"{p.wait_s:.1f}", f"{p.peak_bytes / MIB:.0f}"]
        for p in planned
    ]
    return Note(table(head, lines))


def _idle(tls: TlsFiles) -> Planned:
    idle = cost(tls, SHARDS, ONE_RECORD_PER_S)
    return Planned("idle", idle.cpu_s, idle.time_s, idle.time_s, peak_bytes())


def _busy(case: str, busy: Round) -> Planned:
    return Planned(case, busy.cpu_s, busy.once_s, busy.wait_s, busy.peak_bytes)


def _offset_bytes() -> int:
    """Return the size of an offset whose shards all have other numbers, in the text that Spark saves."""
    rng = random.Random(7)
    shards = {f"shardId-{i:012d}": _end(rng, i) for i in range(SHARDS)}
    return len(json.dumps(Offset({"orders": StreamOffset(NOW_MS, shards, 24)}).to_json()))


def _end(rng: random.Random, index: int) -> ShardOffset:
    base, count = shard_base(CREATED_S, index), rng.randrange(20_000, 14_000_000_000)
    arrived_ms = NOW_MS - rng.randrange(60_000)
    number, first = (encode(base, c, arrived_ms // 1000) for c in (count, count - rng.randrange(20_000)))
    return ShardOffset(After(int(number)), arrived_ms, int(first))


if __name__ == "__main__":
    show(run())
