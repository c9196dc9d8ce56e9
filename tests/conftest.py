"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import pkgutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from signal import SIG_DFL, SIG_IGN, SIGHUP, SIGINT, SIGTERM

import pytest
from hypothesis import settings

from support.declared_events import declared_events
from support.examples import examples
from support.loops import mark_loops

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


def pytest_xdist_auto_num_workers() -> int | None:
    """
    Return the number of test processes. A quarter of the memory stays free for other programs.

    None means that pytest-xdist decides, by PYTEST_XDIST_AUTO_NUM_WORKERS. Runs that share a machine set that.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return max(1, min(WORKERS_PER_CORE * cores, memory_mb * 3 // 4 // WORKER_MB))


# The duration of an example depends on the machine, not on the code under test.
# CI runs the same cases each time, so that a failure comes from the change. Other runs try new cases.
settings.register_profile("tests", deadline=None, derandomize="CI" in os.environ, max_examples=examples(100))
settings.load_profile("tests")

OURS = (
    "kinesis_credentials",
    "kinesis_core",
    "kinesis_consumer",
    "kinesis_cli",
    "kinesis_emulator",
    "spark_kinesis_source",
    "spark_kinesis_sink",
)


@pytest.hookimpl(tryfirst=True)  # before -m chooses by these markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_loops(items)
    put_long_ones_first(items)


def pytest_collection_finish() -> None:
    """
    Import all that is ours: the same cases need the same modules.

    Hypothesis tries constants that it finds in what is imported, and which tests a process had before is up to chance.
    """
    for package in OURS:
        with suppress(ModuleNotFoundError):  # a package that is not installed here
            for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
                with suppress(ImportError):  # a module for an extra, or for a newer Spark
                    import_module(module.name)
    _collect_rarely()


def _collect_rarely() -> None:
    """Let garbage collection look at what tests make, and seldom at all of that. It took a tenth of the time of unit tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _declared_events() -> Iterator[None]:
    if find_spec("kinesis_credentials") is None:  # the emulator is tested alone as well
        yield
        return
    with declared_events():
        yield


@pytest.fixture(autouse=True)
def _usual_signals() -> Iterator[None]:
    """
    Let a test and its processes meet signals as on a terminal, and restore them afterwards.

    A job in the background ignores Ctrl-C, and one of nohup SIGHUP. A query by enhanced fan-out changes SIGTERM for its process.
    """
    before = {number: signal.getsignal(number) for number in (SIGINT, SIGHUP, SIGTERM)}
    for number, handler in before.items():
        if handler is SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == SIGINT else SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
