"""The processes of a run, found by a mark in their environment, which all their children inherit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen

MARK = "MARKED_RUN"
_PROC = Path("/proc")


@frozen
class Process:
    """A process that was running a moment ago."""

    pid: int
    parent: int
    command: str

    def kill(self) -> bool:
        """Kill -9 it. Return False when it had ended before."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def marked(mark: str) -> list[Process]:
    """Return the processes with `MARKED_RUN=mark`, by process id, without those that have ended and were not waited for."""
    wanted = f"{MARK}={mark}".encode()
    return sorted(_look(lambda environment: wanted in environment), key=lambda process: process.pid)


def kill_marked(mark: str) -> None:
    """Kill -9 them all, and those that they start meanwhile."""
    while processes := marked(mark):
        for process in processes:
            process.kill()
        time.sleep(0.05)


def executors(processes: list[Process]) -> list[Process]:
    """Return the JVMs that run tasks."""
    return [process for process in processes if "CoarseGrainedExecutorBackend" in process.command]


def python_workers(processes: list[Process]) -> list[Process]:
    """Return the Python processes of executors: workers that run tasks, and the daemons that forked them."""
    jvms = {process.pid for process in executors(processes)}
    daemons = {process.pid for process in processes if process.parent in jvms and _is_daemon(process)}
    return [process for process in processes if process.pid in daemons or process.parent in daemons]


def _is_daemon(process: Process) -> bool:
    return "pyspark.daemon" in process.command


def _look(fits: Callable[[list[bytes]], bool]) -> Iterator[Process]:
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            if fits((folder / "environ").read_bytes().split(b"\0")):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield Process(int(folder.name), parent, command)
