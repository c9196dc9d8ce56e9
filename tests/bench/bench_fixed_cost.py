"""
The fixed cost of a query: one record, in a new session, compared with a source that has its row ready and needs no library.

    python -m tests.bench.bench_fixed_cost

What the other source costs is Spark's own: it starts four or five Python processes one after the other, and each imports PySpark.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from kinesis_emulator import EmulatorProcess
from tests.bench.harness import Finding, Note, Row, show, table
from tests.bench.one_query import DAEMON, JVM, ROLES
from tests.support.streams import StreamUnderTest

GROUP = "Fixed cost, against a ready row"
TURNS = 3
MODES = {"batch": "a batch read", "stream": "a streaming query, availableNow"}
PYTHON = (*ROLES.values(), DAEMON)
TARGET = 2.5
"""For the CPU of all Python processes together."""
Cost = dict[str, float]


def run() -> list[Finding]:
    """Return rows for each kind of query, and the CPU time by kind of process."""
    findings: list[Finding] = []
    with EmulatorProcess() as emulator:
        stream = StreamUnderTest(emulator.endpoint_url)
        stream.put(b"x")
        # Those of `StreamUnderTest` would hide what a query waits by default.
        options = {"streamName": stream.name, "startingPosition": "TRIM_HORIZON", **emulator.spark_options}
        for mode, name in MODES.items():
            ours, floor = (mode, "kinesis", options), (mode, "one-row", dict[str, str]())
            turns = [(_run("cost", *ours), _run("cost", *floor)) for _ in range(TURNS)]
            memory_mb = tuple(_run("memory", *side)["memory"] for side in (ours, floor))
            findings += _rows(name, turns, memory_mb)
            findings.append(Note(_table(name, turns)))
    return findings


def _run(measured: str, mode: str, source: str, options: dict[str, str]) -> Cost:
    """Return what one query takes in a new session."""
    command = [sys.executable, "-m", "tests.bench.one_query", measured, mode, source, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cost: Cost = json.loads(done.stdout.splitlines()[-1])
    return cost


def _python(cost: Cost) -> float:
    return sum(cost.get(role, 0.0) for role in PYTHON)


def _rows(name: str, turns: Sequence[tuple[Cost, Cost]], memory_mb: tuple[float, ...]) -> Iterator[Row]:
    parts: tuple[tuple[str, str, Callable[[Cost], float], float | None], ...] = (
        ("Python", "s of CPU", _python, TARGET),
        ("Python and JVM", "s of CPU", lambda cost: _python(cost) + cost[JVM], None),
        ("wall time", "s", lambda cost: cost["wall"], None),
    )
    for part, metric, of, target in parts:
        pairs = [(of(ours), of(floor)) for ours, floor in turns]
        mb = memory_mb if part == "Python and JVM" else ()
        yield Row.of(GROUP, f"{name}: {part}", metric, pairs, target, is_cost=True, memory_mb=mb)


def _table(name: str, turns: Sequence[tuple[Cost, Cost]]) -> str:
    """Return the milliseconds of CPU by kind of process. The difference is what the source itself costs."""
    lines = []
    for role in (*PYTHON, JVM):
        sides = [[1000 * cost.get(role, 0.0) for cost in side] for side in zip(*turns, strict=True)]
        ours, floor = (statistics.median(side) for side in sides)
        if ours or floor:
            lines.append([role, *(f"{ms:,.0f}" for ms in (ours, floor, ours - floor))])
    about = f"Where the CPU time of {name} goes, in ms, medians:"
    return f"{about}\n\n" + table(["process", "query", "Spark's own", "ours"], lines)


if __name__ == "__main__":
    show(run())
