"""
Runs benchmarks and writes their results into their sections of docs/benchmarks.md, or of another page in `PAGES`.

    python -m docs.generate_benchmarks               all of them
    python -m docs.generate_benchmarks call latency  only bench_call and bench_latency; the other sections stay

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

from docs.sections import write_section
from tests.bench.harness import Finding, Note, Plot, Row, megabytes, readable, rows_of, show

PAGE = Path(__file__).parent / "benchmarks.md"
PAGES = {"ten_thousand_shards": PAGE.parent / "howto" / "ten-thousand-shards.md"}
"""The pages of benchmarks that are not on `PAGE`."""
BENCHMARKS = Path(__file__).parents[1] / "tests" / "bench"
LIBRARIES = ("pyspark", "pyarrow", "boto3", "aws-kinesis-agg")


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py"))


def run(name: str) -> list[Finding]:
    """Return the findings of one benchmark, run in a separate process because an earlier Spark would disturb it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_run_here, name).result()


def _run_here(name: str) -> list[Finding]:
    findings: list[Finding] = import_module(f"tests.bench.bench_{name}").run()
    return findings


def render(findings: Iterable[Finding]) -> str:
    """Return a section of the page. Consecutive rows of one group become one table."""
    parts = [describe_machine()]
    for group, members in groupby(
        findings, key=lambda found: found.group if isinstance(found, Row) else None
    ):
        if group is None:
            parts += [_describe(found) for found in members if not isinstance(found, Row)]
        else:
            parts.append(_table(group, rows_of(members)))
    return "\n\n".join(parts)


def describe_machine() -> str:
    """Return the date and the facts that a ratio can depend on: processor, Python and libraries."""
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    day = datetime.now(timezone.utc).date().isoformat()
    return f"{day}, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {versions}."


def _describe(found: Plot | Note) -> str:
    match found:
        case Plot():
            from docs.drawing import draw  # matplotlib would count in the memory of each benchmark's process

            return f"![{found.title}]({draw(found).relative_to(PAGE.parent)})"
        case Note():
            return found.text.strip()


def _table(group: str, rows: Sequence[Row]) -> str:
    case, _, other = group.partition(", against ")
    head = [case, "unit", "this project", other or "compared with", "gain", "target", ""]
    align = ["---", "---", "---:", "---:", "---:", "---:", "---"]
    lines = [_line(row) for row in rows]
    if any(row.memory_mb for row in rows):
        head.append("memory, MB")
        align.append("---:")
        lines = [[*line, megabytes(row)] for line, row in zip(lines, rows, strict=True)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, align, *lines))


def _line(row: Row) -> list[str]:
    target, result = "", ""
    if row.target is not None:
        target, result = f"at least {_gain(row.target, row):.3g}", "met" if row.met else "**missed**"
    ours, theirs, gain = readable(row.ours), readable(row.theirs), _gain(row.ratio, row)
    return [row.case, row.metric, ours, theirs, f"{gain:.{1 if gain >= 1 else 2}f}", target, result]


def _gain(ratio: float, row: Row) -> float:
    """Return *ratio* so that higher is better in all tables of the page."""
    return 1 / ratio if row.is_cost else ratio


def main(wanted: Sequence[str]) -> int:
    rows: list[Row] = []
    for name in wanted or names():
        sys.stdout.write(f"bench_{name} ...\n")
        findings = run(name)
        show(findings)
        write_section(PAGES.get(name, PAGE), name, render(findings))
        rows += rows_of(findings)
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
