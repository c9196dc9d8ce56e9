"""Lanes: plans many shards at the same time, one after the other in each thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, wait
from itertools import count
from typing import Protocol, TypeVar

from kinesis_core.threads import ThreadPool

R = TypeVar("R")


class RunAll(Protocol):
    """Applies a function to every shard id, as `map` does, concurrently or not. It begins them in their order."""

    def __call__(self, plan: Callable[[str], R], shards: Iterable[str], /) -> Iterable[R]: ...


class Lanes:
    """
    Applies a function to every shard id, as `map` does. Each thread takes the next shard when it is done with one.

    A future for each shard would cost more than the bookkeeping of its plan.
    """

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPool(threads, "kinesis-plan")
        self._threads = threads
        self._is_closed = False

    def run_all(self, plan: Callable[[str], R], shards: Iterable[str]) -> list[R]:
        """
        Return the results of *plan*, in the order of *shards*, which is also the order in which they are begun.

        A failure cancels the rest and waits for running plans, because the shard states are reused.

        Raises:
            CancelledError: The lanes were closed meanwhile.
            ProcessLimitError: The system refuses the first thread.
        """
        ids = list(shards)
        found: dict[int, R] = {}
        errors: dict[int, BaseException] = {}
        indexes = count()  # next() of it is atomic

        def run() -> None:
            while not errors and not self._is_closed and (index := next(indexes)) < len(ids):
                try:
                    found[index] = plan(ids[index])
                except BaseException as error:  # noqa: BLE001 # raised below, by the thread that called
                    errors[index] = error

        running: list[Future[None]] = []
        try:
            running += (self._pool.submit(run) for _ in range(min(self._threads, len(ids))))
        except RuntimeError:
            if not self._is_closed:
                raise
        wait(running)
        if errors:
            raise errors[min(errors)]
        if len(found) < len(ids):
            raise CancelledError
        return [found[index] for index in range(len(ids))]

    def close(self) -> None:
        """Begin no more shards."""
        self._is_closed = True
        self._pool.shutdown(wait=False)  # no wait() ever returns for futures that a shutdown cancels
