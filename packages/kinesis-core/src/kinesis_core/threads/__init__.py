"""Threads within the limits of the process: every thread of these packages is started here."""

from kinesis_core.threads.limits import OUT_OF_MEMORY, ProcessLimits, find_limits
from kinesis_core.threads.starting import (
    ThreadPool,
    keep_freed_memory,
    share_arenas,
    start_thread,
    start_threads,
    try_to_start,
)

__all__ = [
    "OUT_OF_MEMORY",
    "ProcessLimits",
    "ThreadPool",
    "find_limits",
    "keep_freed_memory",
    "share_arenas",
    "start_thread",
    "start_threads",
    "try_to_start",
]
