"""CPU time and memory of a program and its descendants: for Spark, the driver, the JVM and the Python workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.memory import MB, bytes_in

_TICKS_A_S = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.1
_PARENT, _OWN, _REAPED = 1, slice(11, 13), slice(13, 15)
"""Fields after the name in /proc/<pid>/stat; see proc_pid_stat(5)."""


def cpu_s(work: Callable[[], object], others: Collection[int]) -> float:
    """
    Return the CPU seconds that this process and its descendants spend on *work*, without those of *others*.

    A process that ends meanwhile counts with the parent that waited for it. If no parent waited, it does not count:
    Spark's daemon kills workers that were idle for a minute, and does not wait.
    """
    before = _ticks(others)
    work()
    spent = sum(ticks - before.get(pid, 0) for pid, ticks in _ticks(others).items())
    return spent / _TICKS_A_S


def largest_mb(work: Callable[[], object], others: Collection[int] = ()) -> float:
    """
    Return the most memory that this process and its descendants have at once during *work*, without that of *others*.

    It is the sum of their PSS: a page that several processes share counts once. It is read ten times a second.
    """
    largest = [0]

    def look() -> None:
        largest.append(sum(map(_pss_bytes, _tree(_stats(), others))))

    with looking(look, SAMPLE_S):
        work()
    return max(largest) / MB


@contextmanager
def looking(look: Callable[[], object], every_s: float) -> Iterator[None]:
    """Call *look* every so many seconds while the block runs, and once after it."""
    done = threading.Event()

    def sample() -> None:
        while not done.wait(every_s):
            look()

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield
    finally:
        done.set()
        sampler.join()
    look()


def processes() -> dict[int, tuple[str, float]]:
    """Return the command line and the CPU seconds so far of this process and of each descendant that lives, by process id."""
    return {pid: (_command(pid), sum(stats[_OWN]) / _TICKS_A_S) for pid, stats in _tree(_stats()).items()}


def _ticks(others: Collection[int]) -> dict[int, int]:
    """Return the ticks of each process of the tree so far, including its children that ended."""
    stats = _tree(_stats(), others)
    return {pid: sum(fields[_OWN]) + sum(fields[_REAPED]) for pid, fields in stats.items()}


def _tree(stats: dict[int, list[int]], others: Collection[int] = ()) -> dict[int, list[int]]:
    """Return what *stats* has of this process and its descendants, without *others* and theirs."""
    children: dict[int, list[int]] = {}
    for pid, fields in stats.items():
        children.setdefault(fields[_PARENT], []).append(pid)
    tree, found = {}, [os.getpid()]
    while found:
        pid = found.pop()
        if pid not in others:
            tree[pid] = stats[pid]
            found += children.get(pid, [])
    return tree


def _pss_bytes(pid: int) -> int:
    """Return the memory of a process, with its share of what it has in common with others; 0 if it has ended."""
    try:
        return bytes_in(f"/proc/{pid}/smaps_rollup", "Pss")
    except OSError:
        return 0


def _command(pid: int) -> str:
    """Return the command line of a process, with a zero after each word; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _stats() -> dict[int, list[int]]:
    """Return the fields after the name of each process as numbers, with 0 for its state."""
    stats = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            stats[int(folder.name)] = [0, *(int(word) for word in line.rpartition(")")[2].split()[1:])]
    return stats
