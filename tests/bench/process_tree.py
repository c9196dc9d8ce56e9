"""The CPU time of a program with all that it started: of Spark, the driver, the JVM and the Python workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_PARENT, _OWN, _REAPED = 1, slice(11, 13), slice(13, 15)
"""Fields behind the name in /proc/<pid>/stat; see proc_pid_stat(5)."""


def cpu_s(work: Callable[[], object], others: Collection[int]) -> float:
    """
    Return the CPU seconds that this process and its descendants spend on *work*, but for those of *others*.

    What ends meanwhile counts with the parent that waited for it, and not at all where none did: Spark's daemon
    kills workers that were idle for a minute, and does not wait.
    """
    before = _ticks(others)
    work()
    spent = sum(ticks - before.get(pid, 0) for pid, ticks in _ticks(others).items())
    return spent / _TICKS_A_S


def _ticks(others: Collection[int]) -> dict[int, int]:
    """Return what each process of the tree has spent so far, with its children that ended."""
    stats = _stats()
    children: dict[int, list[int]] = {}
    for pid, fields in stats.items():
        children.setdefault(fields[_PARENT], []).append(pid)
    ticks, found = {}, [os.getpid()]
    while found:
        pid = found.pop()
        if pid not in others:
            ticks[pid] = sum(stats[pid][_OWN]) + sum(stats[pid][_REAPED])
            found += children.get(pid, [])
    return ticks


def _stats() -> dict[int, list[int]]:
    """Return the numbers behind the name of each process, and 0 for its state."""
    stats = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            stats[int(folder.name)] = [0, *(int(word) for word in line.rpartition(")")[2].split()[1:])]
    return stats
