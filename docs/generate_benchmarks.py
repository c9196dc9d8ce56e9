"""
Run the benchmarks and write docs/benchmarks.md.

    python -m docs.generate_benchmarks            all of them
    python -m docs.generate_benchmarks call idle  shows bench_call and bench_idle only, and writes nothing

Exits with 1 when a target is missed.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from importlib import import_module
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from tests.bench.harness import Row, show

PAGE = Path(__file__).parent / "benchmarks.md"
BENCHMARKS = Path(__file__).parents[1] / "tests" / "bench"
LIBRARIES = ("pyspark", "pyarrow", "boto3", "aws-kinesis-agg")
INTRODUCTION = """\
# Benchmarks

<!-- Made by docs/generate_benchmarks.py. -->

Both sides of a ratio are measured in turns in one run, so that a busy machine slows both; look at the ratios, not at the rates. `python3 noxfile.py -s bench`
measures on your machine and writes this page; `tests/bench` says how, case by case.
"""


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py"))


def run(name: str) -> list[Row]:
    """Return the rows of one benchmark, from a process of its own: a Spark that ran before would disturb it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_run_here, name).result()


def _run_here(name: str) -> list[Row]:
    rows: list[Row] = import_module(f"tests.bench.bench_{name}").run()
    return rows


def render(rows: Iterable[Row]) -> str:
    lines = [INTRODUCTION, describe_machine(), ""]
    for group, members in groupby(rows, key=lambda row: row.group):
        lines += [f"## {group}", "", "| case | unit | ours | the other | ratio | target | |"]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: | --- |", *map(_line, members), ""]
    return "\n".join(lines)


def describe_machine() -> str:
    """Return what a ratio may depend on, in general terms."""
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    day = datetime.now(timezone.utc).date().isoformat()
    return f"{day}, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {versions}."


def _line(row: Row) -> str:
    target, verdict = "", ""
    if row.target is not None:
        bound = "at most" if row.is_cost else "at least"
        target, verdict = f"{bound} {row.target:g}", "met" if row.met else "**missed**"
    rate = ",.0f" if row.ours >= 100 else ",.3g"
    ours, theirs = format(row.ours, rate), format(row.theirs, rate)
    return f"| {row.case} | {row.metric} | {ours} | {theirs} | {row.ratio:.1f} | {target} | {verdict} |"


def main(wanted: Sequence[str]) -> int:
    rows: list[Row] = []
    for name in wanted or names():
        sys.stdout.write(f"bench_{name} ...\n")
        found = run(name)
        show(found)
        rows += found
    if not wanted:
        PAGE.write_text(render(rows), encoding="utf-8")
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
