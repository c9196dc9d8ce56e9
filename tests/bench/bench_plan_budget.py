"""
What a micro-batch waits for its plan with a budget, and after how long each shard was planned, over HTTPS with 10 ms per call.

    python -m tests.bench.bench_plan_budget
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from kinesis_core.planning import PlanSettings
from tests.bench.bench_planning import RECORDS_PER_S, THREADS, WHOLE, Query, query_of
from tests.bench.harness import Finding, Plot, Row, in_own_process, show
from tests.bench.memory import peak_bytes, resident_bytes
from tests.bench.server import TlsFiles, trusted_certificate

GROUP = "Plan budget"
SHARDS = (10, 100, 1000, 10_000)
BUDGET_S = PlanSettings().plan_budget_s
BUDGETED = evolve(WHOLE, plan_budget_s=BUDGET_S, first_plan_crosses_gaps=False, max_shard_skew_s=None)
"""Without a skew: 10,000 busy shards are further apart than its default after one round of plans, so these would be whole."""
MANY_THREADS = 64
LEAST_SHARDS = 100
"""Rounds of fewer shards are repeated: whether one of these is sampled, which takes longer, is chance."""
NEW_ROUNDS = 2
"""The first plan of a shard does not know yet whether it is busy, and the next one starts where the skew cut that."""
MIB = 1024 * 1024
MOST_BYTES = 150_000_000
"""The most that a process may have that plans 10,000 busy shards."""


@frozen
class Round:
    """The plans in which each shard was planned once, on average over some rounds."""

    waits_s: list[float]
    """How long each batch waited for its plan."""
    cpu_s: float
    memory_bytes: int
    """What the process grew by since before there was a planner."""
    peak_bytes: int
    """The most that the process had at once, with Python and all libraries."""
    rounds: int
    """How many rounds were measured. The CPU time is that of one."""

    @property
    def wait_s(self) -> float:
        return statistics.median(self.waits_s)

    @property
    def once_s(self) -> float:
        return sum(self.waits_s) / self.rounds


def run() -> list[Finding]:
    """Return the rows by number of shards, and a plot of what a batch waits and of when each shard was planned."""
    with trusted_certificate() as tls:
        budgeted = {n: in_own_process(measure, tls, n, BUDGETED, THREADS) for n in SHARDS}
        whole = {n: in_own_process(measure, tls, n, WHOLE, THREADS) for n in SHARDS}
        wide = in_own_process(measure, tls, SHARDS[-1], BUDGETED, MANY_THREADS)
    rows = [row for n in SHARDS for row in _rows(n, budgeted[n], whole[n])]
    return [*rows, *_wide_rows(wide, budgeted[SHARDS[-1]]), _plot(budgeted, whole)]


def _rows(shards: int, budgeted: Round, whole: Round) -> Iterator[Row]:
    case = f"{shards:,} busy shards"
    # A plan that has the time for all shards waits as long as without a budget. A longer one waits for the budget and the rest of a call.
    target = 1.5 if shards < SHARDS[-1] else 0.25
    for what, metric, ours, theirs, bound in (
        ("waits", "s a batch, vs. a whole plan", budgeted.wait_s, whole.wait_s, target),
        ("each shard planned after", "s of plans, vs. a whole plan", budgeted.once_s, whole.once_s, None),
        ("CPU", "s for each shard once, vs. a whole plan", budgeted.cpu_s, whole.cpu_s, None),
        ("memory", "MiB, vs. a whole plan", budgeted.memory_bytes / MIB, whole.memory_bytes / MIB, None),
    ):
        yield Row.cost(GROUP, f"{case}: {what}", metric, ours, theirs, bound)
    peak = budgeted.peak_bytes / MIB
    yield Row.cost(GROUP, f"{case}: peak of the process", "MiB, vs. 150 MB", peak, MOST_BYTES / MIB, 1.0)


def _wide_rows(wide: Round, narrow: Round) -> Iterator[Row]:
    case, versus = f"{SHARDS[-1]:,} busy shards, {MANY_THREADS} threads", f"vs. {THREADS} threads"
    for what, metric, ours, theirs in (
        ("each shard planned after", f"s of plans, {versus}", wide.once_s, narrow.once_s),
        ("CPU", f"s for each shard once, {versus}", wide.cpu_s, narrow.cpu_s),
    ):
        yield Row.cost(GROUP, f"{case}: {what}", metric, ours, theirs)


def measure(tls: TlsFiles, shards: int, settings: PlanSettings, threads: int) -> Round:
    before_bytes = resident_bytes()
    with query_of(tls, shards, RECORDS_PER_S, settings, threads) as query:
        for _ in range(NEW_ROUNDS):
            _round(query)
        rounds = max(1, LEAST_SHARDS // shards)
        cpu_s = time.process_time()
        waits_s = [wait_s for _ in range(rounds) for wait_s in _round(query)]
        cpu_s = time.process_time() - cpu_s
        json.dumps(query.start.to_json())  # as Spark's log of offsets has it
    after_bytes = peak_bytes()
    return Round(waits_s, cpu_s / rounds, after_bytes - before_bytes, after_bytes, rounds)


def _round(query: Query) -> list[float]:
    """Plan batches until each shard was in one. Return how long each of them took."""
    waits_s, planned = [], set[str]()
    while len(planned) < query.shards:
        query.start = query.planner.next_offset(query.start)
        waits_s.append(query.planner.last_plan.planning_s)
        for stream in query.start.streams.values():
            planned.update(s for s, shard in stream.shards.items() if shard.first is not None)
    return waits_s


def _plot(budgeted: Mapping[int, Round], whole: Mapping[int, Round]) -> Plot:
    lines = {
        "a batch waits, with a budget": [(n, r.wait_s) for n, r in budgeted.items()],
        "a batch waits, whole plans": [(n, r.wait_s) for n, r in whole.items()],
        "each shard planned, with a budget": [(n, r.once_s) for n, r in budgeted.items()],
    }
    return Plot("plan_budget", "What a batch waits for its plan", "shards", "seconds", lines, log="xy")


if __name__ == "__main__":
    show(run())
