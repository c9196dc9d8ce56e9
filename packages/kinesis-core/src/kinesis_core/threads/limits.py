"""The limits that the operating system sets to the memory and the threads of this process, and how near they are."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from kinesis_core.errors import ProcessLimit, ProcessLimitError

STACK_BYTES = 1024 * 1024
"""The stack of a thread where the address space is limited. It is 8 MiB elsewhere, of which a thread uses some 100 KiB."""
_NEAR_BYTES = 4 * STACK_BYTES
"""With less address space than this, its limit is the reason why a thread cannot be started."""
_PART_OF_TASKS = 2
"""A half of the tasks that a container has left is for others: a JVM that gets no thread ends."""
_PART_OF_SPACE = 4
"""A quarter of the address space that is left is for buffers: Arrow and the allocator reserve more than is in use."""
_MIB = 1024 * 1024
_CGROUPS = Path("/sys/fs/cgroup")

OUT_OF_MEMORY = "This process is out of memory."


@frozen
class ProcessLimits:
    """The limits as they were when they were looked at. None: there is no such limit, or it cannot be read."""

    address_space_bytes: int | None = None
    """RLIMIT_AS. It counts what is reserved too, such as the stacks of threads."""
    used_bytes: int = 0
    """The address space in use."""
    tasks: int | None = None
    """pids.max of the container (cgroup), which counts threads."""
    tasks_left: int = 0
    user_threads: int | None = None
    """RLIMIT_NPROC, for all threads of the user. It does not apply to root."""

    def affordable(self, wanted: int, each_bytes: int) -> int:
        """Return how many threads to start if *wanted* are useful, and each needs so much memory. At least 1."""
        most = wanted
        if self.address_space_bytes is not None:
            most = min(most, (self.address_space_bytes - self.used_bytes) // (each_bytes + STACK_BYTES))
        if self.tasks is not None:
            most = min(most, self.tasks_left // _PART_OF_TASKS)
        return max(1, most)

    def affordable_bytes(self, wanted: int) -> int:
        """Return how many bytes to buffer if *wanted* are useful: at most a quarter of the address space that is left. At least 1."""
        if self.address_space_bytes is None:
            return wanted
        return max(1, min(wanted, (self.address_space_bytes - self.used_bytes) // _PART_OF_SPACE))

    def no_thread(self) -> ProcessLimitError:
        """Return the error for a process that can start no thread at all."""
        limit = self._limit_of_threads()
        return ProcessLimitError(f"This process can start no further thread. {self._explain(limit)}", limit)

    def no_memory(self, what: str = "") -> ProcessLimitError | None:
        """Return the error for a `MemoryError`, after the sentence *what*. None if no limit of the process explains it."""
        if self.address_space_bytes is None:
            return None
        limit = ProcessLimit.ADDRESS_SPACE
        return ProcessLimitError(f"{what or OUT_OF_MEMORY} {self._explain(limit)}", limit)

    def _limit_of_threads(self) -> ProcessLimit:
        """Return the limit that a further thread exceeds."""
        if self.tasks is not None and self.tasks_left <= 0:
            return ProcessLimit.TASKS
        if self.address_space_bytes is not None and self.address_space_bytes - self.used_bytes < _NEAR_BYTES:
            return ProcessLimit.ADDRESS_SPACE
        return ProcessLimit.OTHER if self.user_threads is None else ProcessLimit.USER_THREADS

    def _explain(self, limit: ProcessLimit) -> str:
        match limit:
            case ProcessLimit.ADDRESS_SPACE:
                return (
                    f"Its address space is limited to {(self.address_space_bytes or 0) // _MIB} MiB (RLIMIT_AS), of which "
                    f"{self.used_bytes // _MIB} MiB are in use. Raise the limit."
                )
            case ProcessLimit.TASKS:
                return (
                    f"Its container may have {self.tasks} processes and threads (pids.max). Raise the limit."
                )
            case ProcessLimit.USER_THREADS:
                return (
                    f"Its user may have {self.user_threads} processes and threads (RLIMIT_NPROC). Raise the limit, which is "
                    "ulimit -u, or end other programs of the user."
                )
            case ProcessLimit.OTHER:
                return "Check the limits of the container, of the user (ulimit -a) and of the machine."


def find_limits() -> ProcessLimits:
    """Return the limits of this process now."""
    if sys.platform == "win32":
        return ProcessLimits()
    import resource

    def limit_of(kind: int) -> int | None:
        soft, _ = resource.getrlimit(kind)
        return None if soft == resource.RLIM_INFINITY else soft

    used_bytes = _used_bytes()
    tasks, running = _tasks()
    return ProcessLimits(
        None if used_bytes is None else limit_of(resource.RLIMIT_AS),
        used_bytes or 0,
        tasks,
        0 if tasks is None else tasks - running,
        limit_of(resource.RLIMIT_NPROC),
    )


def _used_bytes() -> int | None:
    """Return the address space in use. None on other systems than Linux, which do not enforce a limit of it."""
    import resource

    with suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return None


def _tasks() -> tuple[int | None, int]:
    """Return pids.max of the nearest cgroup that has a limit, and the number of its tasks."""
    for folder in _folders():
        with suppress(OSError, ValueError):  # "max" is no number
            return int((folder / "pids.max").read_text()), int((folder / "pids.current").read_text())
    return None, 0


def _folders() -> list[Path]:
    """Return the folders of this process's cgroup: of version 2, or of the controller of version 1. A container sees its own."""
    groups: list[Path] = []
    with suppress(OSError, ValueError):
        for line in _own_cgroups().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "pids"):
                root = _CGROUPS / controllers
                groups += [root / path.lstrip("/"), root]
    return groups


def _own_cgroups() -> str:
    return Path("/proc/self/cgroup").read_text()
