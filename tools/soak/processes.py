"""Measures the resources of a query's processes by Linux's /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from attrs import frozen

PROC = "/proc"
"""
A string, as are all paths here: pathlib interns each part of a path. The names of files in /proc differ each time, and would
fill Python's table of interned strings until it is built anew: 2 MB that the driver gains once, and that look like a leak.
"""
DRIVER = "driver"
JVM = "JVM"
EMULATOR = "emulator"
READER = "streaming reader"
DAEMON = "daemon of workers"
TASKS = "workers: tasks"
PLANNING = "workers: planning"
_ANONYMOUS = re.compile(r"^RssAnon:\s*(\d+) kB$", re.MULTILINE)
_THREADS = re.compile(r"^Threads:\s*(\d+)$", re.MULTILINE)


@frozen
class Holding:
    """The resources of a process, or the maximum over several processes of one kind."""

    processes: int
    memory_kib: int
    """Private memory, without libraries and mapped files."""
    files: int
    sockets: int
    """The files that are sockets."""
    threads: int


@frozen
class _Process:
    pid: int
    parent: int
    command: str


def look(driver: int | None = None) -> dict[str, Holding]:
    """Return the resources of the process *driver*, by default this one, and of its descendants, by kind."""
    found: dict[str, list[Holding]] = {}
    for kind, pid in _kinds(driver or os.getpid()):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            held = holding(pid)
            found.setdefault(kind, []).append(held)
    return {kind: _most(holdings) for kind, holdings in found.items()}


def holding(pid: int) -> Holding:
    """Return the resources of one process."""
    status = _read(pid, "status")
    memory, threads = _ANONYMOUS.search(status), _THREADS.search(status)
    if memory is None or threads is None:  # a process that has ended and was not waited for has no memory
        raise ProcessLookupError(f"Process {pid} has ended.")
    files = [*_files(pid)]
    return Holding(
        1, int(memory[1]), len(files), sum(file.startswith("socket:") for file in files), int(threads[1])
    )


def _files(pid: int) -> Iterator[str]:
    folder = f"{PROC}/{pid}/fd"
    for number in os.listdir(folder):
        with suppress(FileNotFoundError):  # closed meanwhile, like the folder that is being read
            yield os.readlink(f"{folder}/{number}")


def _most(holdings: list[Holding]) -> Holding:
    return Holding(
        len(holdings),
        max(held.memory_kib for held in holdings),
        max(held.files for held in holdings),
        max(held.sockets for held in holdings),
        max(held.threads for held in holdings),
    )


def _kinds(driver: int) -> Iterator[tuple[str, int]]:
    every = {process.pid: process for process in _processes()}
    for process in every.values():
        if driver in _line_of(process, every):
            yield _kind(process, driver, every), process.pid


def _kind(process: _Process, driver: int, every: Mapping[int, _Process]) -> str:
    """Return the part of Spark that a process is. A worker is forked, so it has its daemon's command line."""
    command = process.command
    if process.pid == driver:
        return DRIVER
    if "kinesis_emulator" in command:
        return EMULATOR
    if "python_streaming_source_runner" in command:
        return READER
    if "pyspark.daemon" not in command:
        return JVM if "java" in command.split(" ")[0] else command
    parent = every.get(process.parent)
    if parent is None or "pyspark.daemon" not in parent.command:
        return DAEMON
    return TASKS if command.endswith("pyspark.worker") else PLANNING


def _line_of(process: _Process, every: Mapping[int, _Process]) -> Iterator[int]:
    """Yield the process's own id and those of its ancestors."""
    while True:
        yield process.pid
        if process.parent not in every:
            return
        process = every[process.parent]


def _processes() -> Iterator[_Process]:
    for name in os.listdir(PROC):
        if name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                # The command's name is in parentheses and may hold any characters.
                parent = _read(name, "stat").rpartition(")")[2].split()[1]
                command = _read(name, "cmdline").replace("\0", " ").strip()
                yield _Process(int(name), int(parent), command)


def _read(pid: int | str, file: str) -> str:
    with open(f"{PROC}/{pid}/{file}") as opened:
        return opened.read()
