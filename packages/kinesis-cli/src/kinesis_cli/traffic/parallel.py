"""Calls a function for many items at once, in daemon threads: Ctrl-C does not wait for them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from attrs import frozen

T = TypeVar("T")
R = TypeVar("R")


@frozen
class _Failed:
    error: BaseException


def call_each(function: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """
    Return the results of *function* for *items*, in the order in which they come.

    The first error of any call is raised here at once; the other calls continue, and their results are dropped.
    """
    from kinesis_core.threads import start_threads

    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    found: queue.SimpleQueue[R | _Failed] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    if items:
        work = partial(_work, function, waiting, found)
        start_threads(work, "kinesis-calls", min(threads, len(items)))
    results: list[R] = []
    while len(results) < len(items):
        result = found.get()
        if isinstance(result, _Failed):
            raise result.error
        results.append(result)
    return results


def _work(
    function: Callable[[T], R], waiting: queue.SimpleQueue[T], found: queue.SimpleQueue[R | _Failed]
) -> None:
    try:
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            found.put(function(item))
    except BaseException as error:  # noqa: BLE001 # raised again in the caller's thread
        found.put(_Failed(error))
