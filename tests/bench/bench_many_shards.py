"""
A task that writes to a stream of many shards: rows as they come, rows of one range of md5(partitionKey), and such rows in order.

    python -m tests.bench.bench_many_shards
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import closing

from attrs import frozen

from kinesis_core import Producer
from kinesis_core.producing.shard_map import MAX_HASH_KEY, hash_of
from tests.bench.accepting_api import AcceptingApi
from tests.bench.harness import Finding, Plot, Row, in_own_process, show
from tests.bench.memory import peak_bytes, resident_bytes

GROUP = "Many shards"
SHARDS = (10, 100, 1000, 10_000)
ROWS = 300_000
"""Rows of a task: 30 MB, about twice the buffer of a producer."""
ROW_BYTES = 100
ROWS_A_CALL = 10_000
"""As many rows as Spark puts into one Arrow batch."""
TASKS = 32
"""Ranges of `repartitionByRange`. A task has the rows of one of them."""
CASES = ("as they come", "one range", "one range, in order")
MIB = 1024 * 1024
MEMORY_MIB = 200
SLOW_RESPONSE_S = 0.1


@frozen
class Task:
    """What a task used."""

    rows_per_cpu_s: float
    rows_per_record: float
    memory_mib: float
    """What the process grew by, without the rows themselves."""


def run() -> list[Finding]:
    """Return the rows by number of shards, and a plot of the user records in an aggregate."""
    keys = {case: _keys(case) for case in CASES}
    tasks = {(case, n): in_own_process(_measure, keys[case], n) for case in CASES for n in SHARDS}
    slow = in_own_process(_measure, keys[CASES[0]], SHARDS[-1], SLOW_RESPONSE_S)
    rows = [
        row for n in SHARDS for case in CASES for row in _rows(case, n, tasks[case, n], tasks[CASES[0], n])
    ]
    name = f"{SHARDS[-1]:,} shards, {CASES[0]}, {SLOW_RESPONSE_S * 1000:g} ms a request"
    return [*rows, _memory(name, slow), _plot(tasks)]


def _rows(case: str, shards: int, task: Task, unsorted: Task) -> Iterator[Row]:
    name = f"{shards:,} shards, {case}"
    if case != CASES[0]:
        speeds, packed = (
            (task.rows_per_cpu_s, unsorted.rows_per_cpu_s),
            (task.rows_per_record, unsorted.rows_per_record),
        )
        yield Row.of(GROUP, f"{name}: speed", f"rows/s and core, vs. {CASES[0]}", [speeds])
        yield Row.of(GROUP, f"{name}: aggregates", f"rows in each, vs. {CASES[0]}", [packed])
    yield _memory(name, task)


def _memory(name: str, task: Task) -> Row:
    used, limit = task.memory_mib, f"MiB, limit {MEMORY_MIB}"
    return Row.cost(GROUP, f"{name}: memory", limit, used, MEMORY_MIB, 1.0)


def _measure(keys: list[str], shards: int, response_s: float = 0.0) -> Task:
    data = [random.Random(1).randbytes(ROW_BYTES)] * ROWS_A_CALL
    before_bytes = resident_bytes()
    api = AcceptingApi.of(shards, response_s)
    cpu_s = time.process_time()
    with closing(Producer(api)) as producer:
        for start in range(0, ROWS, ROWS_A_CALL):
            producer.put_columns(data, keys[start : start + ROWS_A_CALL])
        if producer.flush().user_records != ROWS:
            raise AssertionError("every row must be written")
    cpu_s = time.process_time() - cpu_s
    after_bytes = peak_bytes()
    return Task(ROWS / cpu_s, ROWS / api.records, (after_bytes - before_bytes) / MIB)


def _keys(case: str) -> list[str]:
    """Return the partition keys of the rows of a task, all different."""
    numbers = iter(range(10**12))
    if case == CASES[0]:
        return [f"user-{next(numbers)}" for _ in range(ROWS)]
    within = ((f"user-{number}", hash_of(f"user-{number}", None)) for number in numbers)
    hashed = [
        pair
        for pair, _ in zip((p for p in within if p[1] * TASKS <= MAX_HASH_KEY), range(ROWS), strict=False)
    ]
    return [key for key, _ in (sorted(hashed, key=lambda pair: pair[1]) if case == CASES[2] else hashed)]


def _plot(tasks: Mapping[tuple[str, int], Task]) -> Plot:
    lines = {case: [(n, tasks[case, n].rows_per_record) for n in SHARDS] for case in CASES}
    return Plot("many_shards", "User records in an aggregate", "shards", "rows of 100 B", lines, log="xy")


if __name__ == "__main__":
    show(run())
