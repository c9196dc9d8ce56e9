"""Calls a function for many items at once. An error or Ctrl-C does not wait for calls that are under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS = 16


def call_each(function: Callable[[T], R], items: Sequence[T], threads: int = THREADS) -> list[R]:
    """
    Return the results of *function* for *items*, in the order in which they come.

    The first error of any call is raised here at once. Calls that are under way continue, and their results are dropped.
    """
    from concurrent.futures import as_completed

    from kinesis_core.threads import ThreadPool

    pool = ThreadPool(threads, thread_name_prefix="kinesis-calls")
    try:
        return [call.result() for call in as_completed([pool.submit(function, item) for item in items])]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
