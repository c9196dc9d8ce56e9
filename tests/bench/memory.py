"""The memory of this process, as Linux shows it. `ru_maxrss` would begin with the peak of the process that started this one."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MB = 1e6
_STATUS = "/proc/self/status"


def resident_bytes() -> int:
    return bytes_in(_STATUS, "VmRSS")


def peak_bytes() -> int:
    """Return the most that was resident since the process started its program, or since `begin_peak_anew`."""
    return bytes_in(_STATUS, "VmHWM")


def peak_bytes_of(pid: int) -> int:
    """Return the most that was resident in another process; 0 once it has ended."""
    try:
        return bytes_in(f"/proc/{pid}/status", "VmHWM")
    except OSError:
        return 0


def added_bytes(work: Callable[[], object]) -> int:
    """Return the most by which *work* makes this process grow."""
    begin_peak_anew()
    before = resident_bytes()
    work()
    return max(0, peak_bytes() - before)


def begin_peak_anew() -> None:
    """Let the peak be what is resident now. Freed memory goes back to the system before, so it does not serve what comes next."""
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # see proc_pid_clear_refs(5)


@contextmanager
def measured(notes: Path) -> Iterator[None]:
    """Append a line to *notes*: CPU seconds of a task, memory of its worker before, and its largest memory."""
    begin_peak_anew()
    started_s, idle_bytes = time.process_time(), resident_bytes()
    yield
    spent_s = time.process_time() - started_s
    with notes.open("a") as file:
        file.write(f"{spent_s} {idle_bytes} {peak_bytes()}\n")


def bytes_in(path: str, name: str) -> int:
    """Return one of the figures that Linux shows in a file of /proc, one a line."""
    for line in Path(path).read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{path} has no {name}")
