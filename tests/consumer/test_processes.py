"""Workers in processes of their own, which share their leases in a file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from attrs import define

from kinesis_emulator import Emulator
from support.paths import python_path
from support.waiting import PATIENCE_S

NEVER_S = 3600.0
"""A lease that does not expire while pytest lets a test run."""
EXPIRY_S = 16
"""Longer than a busy machine stands still: whoever renews a lease keeps it."""


@define
class Member:
    """A worker in a process."""

    child: subprocess.Popen[str]

    def hear(self) -> str:
        """Return the next thing that it says."""
        assert self.child.stdout is not None
        return self.child.stdout.readline().strip()

    def tell(self, command: str) -> str:
        """Tell it what to do, and return what it says then."""
        assert self.child.stdin is not None
        self.child.stdin.write(f"{command}\n")
        self.child.stdin.flush()
        return self.hear()

    def end(self) -> None:
        self.child.kill()
        self.child.communicate()


Start = Callable[[str, float], Member]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders")
        yield running


@pytest.fixture
def leases(tmp_path: Path) -> Path:
    return tmp_path / "leases.db"


@pytest.fixture
def start(emulator: Emulator, leases: Path) -> Iterator[Start]:
    """Starts a worker with a name and a lease duration. It has entered its group."""
    environment = {
        **os.environ,
        "PYTHONPATH": python_path(),
    }
    with ExitStack() as stack:

        def started(name: str, lease_duration_s: float) -> Member:
            arguments = [emulator.endpoint_url, str(leases), name, str(lease_duration_s)]
            child = subprocess.Popen(
                [sys.executable, "-m", "consumer.group_member", *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            member = Member(child)
            stack.callback(member.end)
            assert member.hear() == "entered"
            return member

        yield started


def stop(member: Member, leases: Path) -> None:
    """Stop a worker while it does not hold the lock of the file, which the others could not get then."""
    with closing(sqlite3.connect(leases, PATIENCE_S, isolation_level=None)) as table:
        table.execute("BEGIN IMMEDIATE")
        member.child.send_signal(signal.SIGSTOP)
        os.waitpid(member.child.pid, os.WUNTRACED)


def put(emulator: Emulator, *data: bytes) -> None:
    for each in data:
        emulator.put("orders", each, "k")


def test_sigterm_finishes_the_batch_in_hand_and_lets_the_lease_go(start: Start, emulator: Emulator) -> None:
    """
    After SIGTERM the batch in hand is committed, and the process ends well. Another one has the shard at once, while leases are
    valid for an hour.
    """
    put(emulator, b"1", b"2")
    first = start("worker-1", NEVER_S)
    assert first.hear() == "1"
    second = start("worker-2", NEVER_S)
    first.child.send_signal(signal.SIGTERM)
    assert first.tell("commit") == "committed"
    assert first.hear() == "closed"
    assert second.hear() == "2"
    assert first.child.wait() == 0


def test_a_worker_that_stands_still_has_lost_its_lease(
    start: Start, emulator: Emulator, leases: Path
) -> None:
    """
    A worker that was stopped for longer than the lease duration commits nothing, and delivers nothing more: meanwhile another worker
    has got the batch.
    """
    put(emulator, b"1", b"2")
    first = start("worker-1", EXPIRY_S)
    assert first.hear() == "1"
    stop(first, leases)
    second = start("worker-2", EXPIRY_S)
    assert second.hear() == "1"
    first.child.send_signal(signal.SIGCONT)
    assert first.tell("is_ours") == "False"
    assert first.tell("commit") == "LeaseLostError"
    assert second.tell("commit") == "committed"
    assert second.hear() == "2"
    first.child.send_signal(signal.SIGTERM)
    assert first.hear() == "closed", "no batch"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it has no forks")
def test_forks_and_programs_of_the_user(start: Start, emulator: Emulator) -> None:
    """
    A fork that leaves the block of the group releases nothing, one that gets SIGTERM ends as without a group, and programs can
    be run: the worker keeps its lease, and goes on.
    """
    put(emulator, b"1", b"2")
    member = start("worker-1", NEVER_S)
    assert member.hear() == "1"
    assert member.tell("fork and leave") == "3"
    assert member.tell("fork and terminate") == str(-signal.SIGTERM)
    assert member.tell("run a program") == "4"
    assert member.tell("is_ours") == "True"
    assert member.tell("commit") == "committed"
    assert member.hear() == "2"
