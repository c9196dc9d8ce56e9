"""Reads many ranges at once: groups side by side, the ranges of one group one after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.model import Page, RangeGroup, ShardRange

PAGES_AHEAD = 2
"""Pages waiting for the consumer; each reading thread holds one more. A page has at most 10 MiB of data."""


class RangeReader(Protocol):
    """Reads any range, by polling or by enhanced fan-out. Safe in threads."""

    def read(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        """Yield the pages of *shard_range* that have records, in order and trimmed to it."""
        ...


def read_concurrently(
    groups: Sequence[RangeGroup], reader: RangeReader, threads: int, clock: Clock
) -> Iterator[tuple[ShardRange, Page]]:
    """
    Yield the pages of all *groups*, in order within a group, while up to *threads* groups are read ahead.

    Closing the iterator stops the reading. An error of any group is raised here at once.
    """
    concurrent = ConcurrentReader(groups, reader, threads, clock)
    concurrent.start()
    try:
        yield from concurrent.pages()
    finally:
        concurrent.stop()


class _StoppedError(Exception):
    """The consumer has gone."""


@define
class _StoppableClock:
    """Lets a reader notice in a gap, or while it is throttled, that nobody waits for its pages any more."""

    clock: Clock
    stopped: threading.Event

    def now_s(self) -> float:
        return self.clock.now_s()

    def sleep(self, seconds: float) -> None:
        if self.stopped.is_set():
            raise _StoppedError
        self.clock.sleep(seconds)


@define
class _Failed:
    error: BaseException


class _Done:
    """One thread has no group left."""


@define
class ConcurrentReader:
    """The threads that read groups, and the queue of pages between them and the consumer."""

    groups: Sequence[RangeGroup]
    reader: RangeReader
    threads: int
    clock: Clock
    _waiting: queue.SimpleQueue[RangeGroup] = field(factory=queue.SimpleQueue, init=False)
    _read: queue.Queue[tuple[ShardRange, Page] | _Failed | _Done] = field(init=False)
    _stopped: threading.Event = field(factory=threading.Event, init=False)
    _working: list[threading.Thread] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._read = queue.Queue(PAGES_AHEAD)
        for group in self.groups:
            self._waiting.put(group)

    def start(self) -> None:
        count = min(self.threads, len(self.groups))
        self._working = [
            threading.Thread(target=self._work, name="kinesis-read", daemon=True) for _ in range(count)
        ]
        for thread in self._working:
            thread.start()

    def pages(self) -> Iterator[tuple[ShardRange, Page]]:
        left = len(self._working)
        while left:
            item = self._read.get()
            if isinstance(item, _Failed):
                raise item.error
            if isinstance(item, _Done):
                left -= 1
            else:
                yield item

    def stop(self) -> None:
        """Let the threads end after the page in hand; they are daemons, so nobody waits for a slow server."""
        self._stopped.set()
        while not self._read.empty():
            self._read.get_nowait()

    def _work(self) -> None:
        try:
            with closing(self._pages_of_waiting()) as pages:
                for shard_range, page in pages:
                    if not self._hand_over((shard_range, page)):
                        return
        except BaseException as error:  # noqa: BLE001 # whatever it is, the consumer raises it
            self._hand_over(_Failed(error))
        else:
            self._hand_over(_Done())

    def _pages_of_waiting(self) -> Generator[tuple[ShardRange, Page], None, None]:
        clock = _StoppableClock(self.clock, self._stopped)
        while True:
            try:
                group = self._waiting.get_nowait()
            except queue.Empty:
                return
            for shard_range in group:
                with closing(self.reader.read(shard_range, clock)) as pages:
                    for page in pages:
                        yield shard_range, page

    def _hand_over(self, item: tuple[ShardRange, Page] | _Failed | _Done) -> bool:
        """Wait until the consumer has room; return False when it has gone."""
        while not self._stopped.is_set():
            try:
                self._read.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False
