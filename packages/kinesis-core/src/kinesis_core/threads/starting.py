"""
Starts threads, with little memory where memory is limited, and fewer than wanted where the system refuses more.

A limit of the address space (RLIMIT_AS) counts what threads reserve: a stack of 8 MiB, and an arena of 64 to 128 MiB in which
glibc allocates memory for a thread. So 16 threads reserve 2 GiB and use a few MiB of it. Under such a limit threads get small
stacks, and share the arena of the process. Python's lock keeps them from waiting for it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache

from kinesis_core.threads.limits import STACK_BYTES, ProcessLimits, find_limits
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

_M_ARENA_MAX, _ARENAS = -8, 1
"""The name of mallopt's parameter in malloc.h, and its value: the arena of the process, which reserves nothing in advance."""
_M_MMAP_THRESHOLD, _MAPPED_BYTES = -3, 32 * 1024 * 1024
"""What is this large has memory of its own, which goes back to the system at once. No response is; and glibc takes no more."""
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 128 * 1024 * 1024
"""Freed memory goes back to the system if more than this lies at the end of the arena. As much as a task has at most by default."""
_starting = threading.Lock()
"""The size of stacks is one for all threads of the process."""


def start_thread(run: Callable[[], object], name: str) -> threading.Thread:
    """
    Start a daemon thread that calls *run*.

    Raises:
        ProcessLimitError: The system refuses another thread.
    """
    return start_threads(run, name, 1)[0]


def start_threads(
    run: Callable[[], object], name: str, wanted: int, each_bytes: int = 0
) -> list[threading.Thread]:
    """
    Start daemon threads that call *run*: *wanted* of them, or as many as the limits of the process allow, but at least one.

    *each_bytes* is the memory that one of them needs besides its stack.

    Raises:
        ProcessLimitError: The system refuses the first thread.
    """
    limits = find_limits()
    threads: list[threading.Thread] = []
    for _ in range(limits.affordable(wanted, each_bytes)):
        thread = threading.Thread(target=run, name=name, daemon=True)
        if not try_to_start(thread.start, limits):
            break
        threads.append(thread)
    _check(name, len(threads), wanted)
    return threads


class ThreadPool(ThreadPoolExecutor):
    """A pool that does with fewer threads where the system refuses more. It raises a `ProcessLimitError` without any."""

    def _adjust_thread_count(self) -> None:
        """Start a thread, if one is needed. A pool starts threads only here."""
        add: Callable[[], None] = super()._adjust_thread_count
        if not try_to_start(add):
            _check(self._thread_name_prefix or "", len(self._threads), self._max_workers)


def try_to_start(start: Callable[[], object], limits: ProcessLimits | None = None) -> bool:
    """Return whether *start* started a thread. False: the system refuses another one."""
    is_limited = (limits or find_limits()).address_space_bytes is not None
    try:
        with _sparing_memory() if is_limited else nullcontext():
            start()
    except (RuntimeError, MemoryError):
        if sys.is_finalizing():
            raise
        return False
    return True


@contextmanager
def _sparing_memory() -> Iterator[None]:
    """Let the threads that are started in this context have small stacks, and share arenas."""
    share_arenas()
    with _starting:
        before = threading.stack_size(STACK_BYTES)
        try:
            yield
        finally:
            threading.stack_size(before)


@lru_cache(maxsize=1)
def share_arenas() -> None:
    """
    Let the threads of this process share its arena, if its C library is glibc.

    Each of 16 threads keeps up to 28 MiB of freed memory in an arena of its own: twice the largest response. It costs
    no time: what these threads do in Python, one of them does at a time. It has an effect on threads that start later, and applies to
    the whole process. So call it only in processes that are there for one task of ours.
    """
    _set_malloc(_M_ARENA_MAX, _ARENAS)


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """
    Let this process keep the memory of a page for the next one, if its C library is glibc.

    Otherwise each page of 1 MB or more gets new memory, and the system fills it with zeros, 4 KiB at a time: half of the CPU of reading
    records of 10 KB. Where the address space is limited, freed memory counts, so it goes back.

    This, too, is for processes that are there for one task of ours.
    """
    if find_limits().address_space_bytes is None:
        _set_malloc(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
        _set_malloc(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def _set_malloc(parameter: int, value: int) -> None:
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).mallopt(parameter, value)


def _check(name: str, started: int, wanted: int) -> None:
    """Raise an error if no thread was *started*, and log once if there are fewer than *wanted*."""
    if not started:
        raise find_limits().no_thread()
    if started < wanted:
        _warn(name, wanted, started)


@lru_cache(maxsize=64)
def _warn(name: str, wanted: int, started: int) -> None:
    log.warning("threads.limited", threads=name, started=started, wanted=wanted)
