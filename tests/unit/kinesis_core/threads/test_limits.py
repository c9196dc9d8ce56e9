"""What the limits of a process mean for its threads."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kinesis_core.errors import ProcessLimit
from kinesis_core.threads import ProcessLimits, find_limits, limits
from kinesis_core.threads.limits import STACK_BYTES

MIB = 1024 * 1024
AMOUNTS = st.integers(0, 2**40)
LIMITS = st.builds(
    ProcessLimits, st.none() | AMOUNTS, AMOUNTS, st.none() | st.integers(0, 10**6), st.integers(-5, 10**6)
)


@given(LIMITS, st.integers(1, 1000), AMOUNTS)
def test_there_is_always_a_thread(found: ProcessLimits, wanted: int, each_bytes: int) -> None:
    """At least one thread is tried, and never more than wanted. Those after the first one fit into what is left."""
    count = found.affordable(wanted, each_bytes)
    assert 1 <= count <= wanted
    if count > 1 and found.address_space_bytes is not None:
        assert count * (each_bytes + STACK_BYTES) <= found.address_space_bytes - found.used_bytes
    if count > 1 and found.tasks is not None:
        assert 2 * count <= found.tasks_left


@given(st.integers(1, 1000), AMOUNTS)
def test_no_limits(wanted: int, each_bytes: int) -> None:
    """Without limits there are as many threads as wanted."""
    assert ProcessLimits(user_threads=1000).affordable(wanted, each_bytes) == wanted


@given(LIMITS, st.integers(1, 2**40))
def test_buffers_leave_most(found: ProcessLimits, wanted: int) -> None:
    """What is buffered takes at most a quarter of the address space that is left, and what was wanted where there is no limit."""
    size = found.affordable_bytes(wanted)
    assert 1 <= size <= wanted
    if found.address_space_bytes is None:
        assert size == wanted
    elif size > 1:
        assert 4 * size <= found.address_space_bytes - found.used_bytes


@pytest.mark.parametrize(
    ("found", "limit", "text"),
    [
        (
            ProcessLimits(600 * MIB, 599 * MIB, user_threads=60_000),
            ProcessLimit.ADDRESS_SPACE,
            "Its address space is limited to 600 MiB (RLIMIT_AS), of which 599 MiB are in use.",
        ),
        (
            ProcessLimits(600 * MIB, 100 * MIB, user_threads=64),
            ProcessLimit.USER_THREADS,
            "Its user may have 64 processes and threads (RLIMIT_NPROC).",
        ),
        (
            ProcessLimits(tasks=100, tasks_left=0, user_threads=64),
            ProcessLimit.TASKS,
            "Its container may have 100 processes and threads (pids.max).",
        ),
        (ProcessLimits(tasks=100, tasks_left=5), ProcessLimit.OTHER, "Check the limits of the container"),
    ],
)
def test_which_limit_is_reached(found: ProcessLimits, limit: ProcessLimit, text: str) -> None:
    """The error names the limit that is reached. It pickles, as Spark does with it."""
    error = pickle.loads(pickle.dumps(found.no_thread()))  # noqa: S301 # our own bytes
    assert error.limit is limit
    assert str(error).startswith(f"This process can start no further thread. {text}")


def test_no_memory() -> None:
    """A lack of memory is explained by a limit of the address space, or not at all."""
    error = ProcessLimits(600 * MIB, 400 * MIB, user_threads=64).no_memory()
    assert error is not None
    assert error.limit is ProcessLimit.ADDRESS_SPACE
    assert str(error).startswith("This process is out of memory. Its address space is limited to 600 MiB")
    assert ProcessLimits(user_threads=64).no_memory() is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize(("most", "tasks", "left"), [("100\n", 100, 2), ("max\n", None, 0)])
def test_limit_of_a_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: str, tasks: int | None, left: int
) -> None:
    """The nearest cgroup that has a limit counts. A root has no file."""
    group = tmp_path / "system.slice" / "job"
    group.mkdir(parents=True)
    (group / "pids.max").write_text(most)
    (group / "pids.current").write_text("98\n")
    monkeypatch.setattr(limits, "_CGROUPS", tmp_path)
    monkeypatch.setattr(limits, "_own_cgroups", lambda: "12:cpu,cpuacct:/\n0::/system.slice/job\n")
    found = find_limits()
    assert (found.tasks, found.tasks_left) == (tasks, left)


def test_limits_of_this_process() -> None:
    """The limits can be read. What is in use is more than nothing where it counts."""
    found = find_limits()
    assert found.used_bytes > 0 or found.address_space_bytes is None
