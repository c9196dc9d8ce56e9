"""How `pytest -n auto` runs test files side by side."""

from __future__ import annotations

import os

import pytest

LONG = ("tests/soak/test_soak.py", "tests/chaos/test_chaos.py")
"""Tests that take minutes. They start first, and all other tests fill the time until they end."""
WORKERS_PER_CORE = 2
"""Tests with Spark wait most of the time: for batches, for processes to start, and for late responses."""
WORKER_MB = 2500
"""
Memory of a test process with its Spark and all its children. Four processes with tests/spark took up to 8,200 MB together,
shared memory counted once; some files take more than others.
"""


def put_long_ones_first(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return LONG.index(file) if file in LONG else len(LONG)

    items.sort(key=rank)  # a stable sort: the others stay in order


def count_workers() -> int | None:
    """
    Return the number of test processes. A quarter of the memory stays free for other programs.

    None means that pytest-xdist decides, by PYTEST_XDIST_AUTO_NUM_WORKERS. Runs that share a machine set that.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return max(1, min(WORKERS_PER_CORE * cores, memory_mb * 3 // 4 // WORKER_MB))
