"""SIGTERM once the groups of a program are closed, in programs of their own: it has to end them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from attrs import define

from kinesis_core.termination import Termination
from support.paths import python_path
from support.waiting import PATIENCE_S

BEGINNING = """
import signal, threading
from support.consumer_groups import new_group, new_stream
group = new_group(new_stream())
"""


@define(eq=False)
class Group:
    """The threads of a group."""

    is_stopping: bool = False
    is_here: bool = True


def run(program: str) -> tuple[int, str]:
    """Return how a program ends after `BEGINNING`, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + program],
        env={**os.environ, "PYTHONPATH": python_path()},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout


@pytest.mark.tests
@pytest.mark.skipif(os.name == "nt", reason="its processes do not end by signals")
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            """
group.__enter__()
closer = threading.Thread(target=group.close)
closer.start()
closer.join()
print("closed", flush=True)
signal.raise_signal(signal.SIGTERM)
print("alive", flush=True)
""",
            id="after a close in another thread",
        ),
        pytest.param(
            """
with group:
    group.stop()
    signal.raise_signal(signal.SIGTERM)
    print("closed", flush=True)
print("alive", flush=True)
""",
            id="while the group ends by itself",
        ),
    ],
)
def test_sigterm_ends_a_program_without_groups(program: str) -> None:
    """A SIGTERM that stops no group ends the program as by default: once all groups are closed, in whichever thread."""
    assert run(program) == (-signal.SIGTERM, "closed\n")


@pytest.mark.tests
@pytest.mark.skipif(os.name == "nt", reason="its processes do not end by signals")
def test_sigterm_that_another_thread_gets_ends_a_run() -> None:
    """
    Where a process is paused while the signal comes, any thread may get it. Python handles it in the main thread, and the system does
    not wake that one.
    """
    program = """
import concurrent.futures, sys, time, traceback
from support.consumer_groups import fill
stream, main = new_stream(), threading.get_ident()
fill(stream, 1)

def waits_for_handlers():
    frames = [frame for frame, _ in traceback.walk_stack(sys._current_frames()[main])]
    return concurrent.futures.wait.__code__ in [frame.f_code for frame in frames[1:]]

def handle(batch):
    while not waits_for_handlers():
        time.sleep(0.01)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

with new_group(stream) as group:
    group.run(handle)
    print("ended", flush=True)
"""
    assert run(program) == (0, "ended\n")


@pytest.mark.tests
def test_a_second_sigterm_is_part_of_the_first() -> None:
    """A program that was asked twice to end closes its group, and ends as it wants to."""
    program = """
with group:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    print(list(group), flush=True)
"""
    assert run(program) == (0, "[]\n")


def test_groups_of_another_process_are_not_stopped() -> None:
    """A fork with a group of its own stops that one, and keeps nothing of what it has inherited."""
    termination, own, inherited = Termination(), Group(), Group(is_here=False)
    for group in (own, inherited):
        termination._groups.add(group)
    termination.on_signal(signal.SIGTERM, None)
    assert (own.is_stopping, inherited.is_stopping) == (True, False)
    termination.remove(own)
    assert not termination._has_stopped
