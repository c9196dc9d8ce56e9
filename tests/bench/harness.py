"""
Compares two ways to do one thing, and defines the findings of a benchmark: rows of a table, plots, notes.

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
    One line of the benchmark report. *ours* and *theirs* are in the unit of *metric*, and higher is better.

    With `is_cost` lower is better, and the target is the largest ratio allowed.
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


@frozen
class Measurement:
    """Medians of the CPU seconds per call of each side, and of the ratio of neighbouring turns."""

    ours_s: float
    theirs_s: float
    ratio: float

    def row(self, group: str, case: str, work: float, metric: str, target: float | None) -> Row:
        """Return the line of the report, for calls that each did *work* units of *metric*."""
        return Row(group, case, metric, work / self.ours_s, work / self.theirs_s, self.ratio, target)


def measure(ours: Callable[[], object], contender: Callable[[], object], repeat: int) -> Measurement:
    """
    Time both sides in turns, *repeat* times each.

    Each turn lasts about `TURN_S`, with as many calls as that takes, so a machine that is slow for a while slows both.
    The ratio is that of neighbouring turns.
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
    """Return *value* with at least three digits."""
    return format(value, ",.0f" if value >= 100 else ",.3g")
