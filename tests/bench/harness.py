"""
Compares two ways to do one thing, and defines the findings of a benchmark: rows of a table, plots, notes.

A module `bench_<name>` has a function `run` that returns its findings in the order of the page.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from attrs import frozen

from tests.bench.memory import MB, added_bytes

TURN_S = 0.2
TURNS = 9
RECORDS_PER_CPU_S = "records per CPU second"
T = TypeVar("T")


@frozen
class Row:
    """
    One line of the benchmark report. *ours* and *theirs* are in the unit of *metric*, and higher is better.

    With `is_cost` lower is better, and the target is the largest ratio allowed. *memory_mb* is what both take of it, or ours alone.
    """

    group: str
    case: str
    metric: str
    ours: float
    theirs: float
    ratio: float
    target: float | None
    is_cost: bool = False
    memory_mb: tuple[float, ...] = ()

    @staticmethod
    def of(
        group: str,
        case: str,
        metric: str,
        turns: Iterable[tuple[float, float]],
        target: float | None = None,
        *,
        is_cost: bool = False,
        memory_mb: tuple[float, ...] = (),
    ) -> Row:
        """Return the medians of both sides over *turns*, and that of the ratio of neighbouring turns."""
        pairs = [*turns]
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(mine / its for mine, its in pairs)
        return Row(group, case, metric, ours, theirs, ratio, target, is_cost, memory_mb)

    @staticmethod
    def cost(
        group: str,
        case: str,
        metric: str,
        ours: float,
        theirs: float,
        target: float | None = None,
        memory_mb: tuple[float, ...] = (),
    ) -> Row:
        """Return a line where lower is better."""
        return Row(group, case, metric, ours, theirs, ours / theirs, target, True, memory_mb)

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.ratio <= self.target if self.is_cost else self.ratio >= self.target


@frozen
class Plot:
    """
    Lines through points, drawn as `docs/plots/<name>.svg`.

    Attributes:
        x: The label of the x axis, with its unit. *y* is that of the y axis.
        lines: The points of each line, by the line's name in the legend.
        log: The axes with a logarithmic scale: "", "x", "y" or "xy".
    """

    name: str
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log: str = ""


@frozen
class Note:
    """A paragraph of the report in Markdown, such as the reason for a missed target, with a profile."""

    text: str


Finding: TypeAlias = Row | Plot | Note


def measure(
    group: str,
    case: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    work: float,
    target: float | None = None,
    metric: str = RECORDS_PER_CPU_S,
) -> Row:
    """
    Time both sides in turns, and return the line for calls that each do *work* units of *metric*.

    Each turn lasts about `TURN_S`, with as many calls as that takes, so a machine that is slow for a while slows both.
    The memory is what a call of either side adds to this process.
    """
    our_calls, their_calls = _calls_a_turn(ours), _calls_a_turn(theirs)
    turns = [(_turn(ours, our_calls), _turn(theirs, their_calls)) for _ in range(TURNS)]
    rates = [(work / mine_s, work / its_s) for mine_s, its_s in turns]
    # Other systems do not show it.
    memory_mb = tuple(added_bytes(side) / MB for side in (ours, theirs)) if sys.platform == "linux" else ()
    return Row.of(group, case, metric, rates, target, memory_mb=memory_mb)


def compare_batches(
    group: str,
    case: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    records: int,
    target: float | None,
) -> Row:
    """Return the line for calls that must build the same batches of so many records."""
    if ours() != theirs():
        raise AssertionError("both must build the same batches")
    return measure(group, case, ours, theirs, records, target)


def _calls_a_turn(work: Callable[[], object]) -> int:
    work()  # imports, caches and connections do not count
    return max(1, round(TURN_S / _turn(work, 1)))


def _turn(work: Callable[[], object], calls: int) -> float:
    """Make *calls* calls, and return the CPU seconds per call."""
    # Both start without garbage and keep the collector enabled, as programs do.
    gc.collect()
    start_s = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start_s) / calls


@contextmanager
def one_core() -> Iterator[None]:
    """
    Run everything that is started in the block on one core, if the system supports that.

    CPU times are then those of the work alone. Hyperthreads of one core slow each other down, so a reader with several
    threads, or with a server beside it, would seem to use more CPU time than a sequential one.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def in_own_process(work: Callable[..., T], *arguments: object) -> T:
    """Return the result of *work* in a new process, whose memory is that of this work alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def table(head: Sequence[str], lines: Iterable[Sequence[str]], align: str = "---:") -> str:
    """Return a table in Markdown. *align* is that of all columns but the first."""
    rows = [head, ["---", *[align] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def rows_of(findings: Iterable[Finding]) -> list[Row]:
    return [finding for finding in findings if isinstance(finding, Row)]


def show(findings: Iterable[Finding]) -> None:
    """Write the rows as a table to standard output."""
    for row in rows_of(findings):
        target = "" if row.target is None else f"target {row.target:g}x {'met' if row.met else 'MISSED'}"
        memory = f"{megabytes(row)} MB" if row.memory_mb else ""
        sys.stdout.write(
            f"{row.group:20} {row.case:30} {readable(row.ours):>12} {readable(row.theirs):>12} {row.metric:26}"
            f" {row.ratio:6.1f}x {target} {memory}\n"
        )


def megabytes(row: Row) -> str:
    """Return the memory of both sides. Half a megabyte and less is what Python has free anyway."""
    return " / ".join("below 0.5" if mb < 0.5 else readable(mb) for mb in row.memory_mb)


def readable(value: float) -> str:
    """Return *value* with at least three digits."""
    return format(value, ",.0f" if value >= 100 else ",.3g")
