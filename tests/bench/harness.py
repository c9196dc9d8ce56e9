"""
Comparing two ways to do one thing, and what a benchmark reports: rows of a table, plots, notes.

A module `bench_<name>` has a function `run` that returns its findings in the order of the page.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from attrs import frozen

TURN_S = 0.2


@frozen
class Row:
    """
    One line of the benchmark report; *ours* and *theirs* are in the unit of *metric*, higher is better.

    With `is_cost` lower is better, and the target is the most that the ratio may be.
    """

    group: str
    case: str
    metric: str
    ours: float
    theirs: float
    ratio: float
    target: float | None
    is_cost: bool = False

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
        x: What the x axis is labelled with, its unit too; so is *y*.
        lines: Points of each line, by its name in the legend.
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
    """A paragraph of the report, such as why a target is missed, with a profile. Markdown."""

    text: str


Finding: TypeAlias = Row | Plot | Note


@frozen
class Measurement:
    """Medians of the CPU seconds of a call of either, and of the ratio of neighbouring turns."""

    ours_s: float
    theirs_s: float
    ratio: float

    def row(self, group: str, case: str, work: float, metric: str, target: float | None) -> Row:
        """Return the report's line for calls that did *work* units of *metric* each."""
        return Row(group, case, metric, work / self.ours_s, work / self.theirs_s, self.ratio, target)


def measure(ours: Callable[[], object], contender: Callable[[], object], repeat: int) -> Measurement:
    """
    Time both *repeat* times in turns.

    A turn of either lasts about `TURN_S`, however many calls that takes, so that a machine that slows down
    for a while slows both; the ratio is that of turns next to each other.
    """
    our_calls, their_calls = _calls_a_turn(ours), _calls_a_turn(contender)
    turns = [(_turn(ours, our_calls), _turn(contender, their_calls)) for _ in range(repeat)]
    return Measurement(
        statistics.median(mine_s for mine_s, _ in turns),
        statistics.median(theirs_s for _, theirs_s in turns),
        statistics.median(theirs_s / mine_s for mine_s, theirs_s in turns),
    )


def _calls_a_turn(work: Callable[[], object]) -> int:
    work()  # imports, caches and connections do not count
    return max(1, round(TURN_S / _turn(work, 1)))


def _turn(work: Callable[[], object], calls: int) -> float:
    """Return the CPU seconds of one of *calls*."""
    # Both start without garbage and keep the collector on, as a program would.
    gc.collect()
    start_s = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start_s) / calls


@contextmanager
def one_core() -> Iterator[None]:
    """
    Keep on one core what is started in the block, where the system can do that.

    CPU time is that of the work, then. Hyperthreads of one core slow each other down, so that whoever lets several
    threads work at a time, or a server beside them, would seem to work more than who does one thing after the other.
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


def rows_of(findings: Iterable[Finding]) -> list[Row]:
    return [finding for finding in findings if isinstance(finding, Row)]


def show(findings: Iterable[Finding]) -> None:
    """Write the rows as a table to standard output."""
    for row in rows_of(findings):
        target = "" if row.target is None else f"target {row.target:g}x {'met' if row.met else 'MISSED'}"
        sys.stdout.write(
            f"{row.group:20} {row.case:30} {readable(row.ours):>12} {readable(row.theirs):>12} {row.metric:26}"
            f" {row.ratio:6.1f}x {target}\n"
        )


def readable(value: float) -> str:
    """Return *value* with three digits at least."""
    return format(value, ",.0f" if value >= 100 else ",.3g")
