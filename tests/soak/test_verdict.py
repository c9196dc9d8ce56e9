"""The verdict of a soak detects growth in spite of noise."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import python_path
from tools.soak.processes import JVM, TASKS, Holding
from tools.soak.verdict import Look, leaks, trends

Series = Callable[[int], float]


def flat(_: int) -> float:
    return 0


def looks(
    memory: Series = flat, files: Series = flat, threads: Series = flat, kind: str = TASKS, count: int = 200
) -> list[Look]:
    """Return a measurement every 5 batches of one process that grows by the series."""
    found = []
    for step in range(0, 5 * count, 5):
        held = Holding(1, 90_000 + round(memory(step)), 20 + round(files(step)), 10, 8 + round(threads(step)))
        found.append(Look(step, {kind: held}))
    return found


def noisy(seed: int) -> Series:
    """Return the series of a process without a leak: it warms up, and arenas come and go."""
    rng = random.Random(seed)
    return lambda step: min(step, 60) * 100 + rng.choice([0, 0, 0, 0, 0, 0, 256, 512, 4096])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [24, 200, 800])
def test_noise_is_no_leak(seed: int, count: int) -> None:
    """Warm-up, arenas that come and go, and an occasional connection do not fail the soak."""
    rng = random.Random(seed)
    found = looks(noisy(seed), files=lambda _: rng.choice([0, 0, 0, 0, 1, 2, 9]), count=count)
    assert leaks(found) == []


@pytest.mark.parametrize(("kib_per_batch", "count"), [(8, 200), (3, 800), (120, 24), (240, 24)])
def test_memory_that_is_kept_of_each_batch_is_a_leak(kib_per_batch: float, count: int) -> None:
    """8 KiB a batch over 1,000 batches, or the records of a round over 120, fail the soak in spite of noise."""
    noise = noisy(7)
    [found] = leaks(looks(lambda step: noise(step) + kib_per_batch * step, count=count))
    assert (found.kind, found.quantity) == (TASKS, "memory_kib")
    assert found.growth_per(1000) == pytest.approx(1000 * kib_per_batch, rel=0.6)
    assert str(found).startswith(f"{TASKS}: memory_kib grew from ")


@pytest.mark.parametrize("quantity", ["files", "threads"])
def test_what_is_left_open_now_and_then_is_a_leak(quantity: str) -> None:
    """One file or one thread in 50 batches fails the soak."""

    def left(step: int) -> float:
        return step // 50

    [found] = leaks(looks(files=left) if quantity == "files" else looks(threads=left))
    assert found.quantity == quantity
    assert found.growth == pytest.approx(6.5, abs=1)


def test_a_file_of_each_restart_is_a_leak() -> None:
    """One file per restart fails the soak after 50 restarts."""
    restarts = [Look(step, {TASKS: Holding(1, 90_000, 20 + step, 10, 8)}) for step in range(50)]
    [found] = leaks(restarts)
    assert found.growth == 17


def test_processes_that_pile_up_are_a_leak() -> None:
    """Readers of stopped queries that keep running fail the soak."""
    piled = [Look(step, {TASKS: Holding(1 + step, 90_000, 20, 10, 8)}) for step in range(12)]
    assert [leak.quantity for leak in leaks(piled)] == ["processes"]


def test_the_jvm_is_measured_and_not_judged() -> None:
    """The JVM's heap grows and shrinks as Spark decides."""
    found = looks(lambda step: 1000 * step, kind=JVM)
    assert leaks(found) == []
    assert max(trend.growth_per(1000) for trend in trends(found)) == 1_000_000


def test_too_few_looks_are_no_verdict() -> None:
    """With less than three measurements per third a median is no protection against noise."""
    with pytest.raises(ValueError, match="8 measurements are too few"):
        trends(looks(count=8))


LOOKS = """
import threading

from tools.soak.processes import DRIVER, look

before, done = look()[DRIVER], threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
with open("file", "w"):
    taken = b"x" * 20_000_000
    between = look()[DRIVER]
assert between.memory_kib > before.memory_kib + len(taken) // 1024 - 1000
done.set()
thread.join()
after = look()[DRIVER]
assert (between.files - before.files, between.threads - before.threads) == (1, 1)
assert (after.files, after.threads) == (before.files, before.threads)
"""
"""Measures itself."""
CHILDREN = """
import os, subprocess, sys

from tools.soak.processes import EMULATOR, holding, look

command = [sys.executable, "-c", "import sys; sys.stdin.read()", "kinesis_emulator"]
with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
    assert holding(child.pid).processes == 1
    assert look()[EMULATOR].processes == 1
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert EMULATOR not in look()
"""
"""A child is found by its command, and no longer once it has ended, although nobody has waited for it."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
@pytest.mark.parametrize("program", [LOOKS, CHILDREN], ids=["what it opens", "its children"])
def test_looking(program: str, tmp_path: Path) -> None:
    """What a process takes, and what it starts, is measured, and no longer once that is gone. In a process of its own nothing else is."""
    environment = {**os.environ, "PYTHONPATH": python_path()}
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
