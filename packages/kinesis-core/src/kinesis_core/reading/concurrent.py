"""Reads many ranges at once: groups concurrently, the ranges of one group one after the other."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Protocol

from attrs import define, field, frozen
from msgspec.structs import replace

from kinesis_core.budget import IN_FLIGHT, ByteBudget, ByteShare, receiving
from kinesis_core.clock import Clock, StoppableClock
from kinesis_core.model import Page, RangeGroup, ShardRange
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.range_log import logged
from kinesis_core.reading.settings import MAX_BUFFERED_BYTES
from kinesis_core.threads import find_limits, start_threads

PAGES_AHEAD = 2
"""Pages in the queue to the caller; each thread holds one more."""
PAGES_HELD = PAGES_AHEAD + 2
"""Pages of one group that are in memory, if it is read alone, with the one that the caller has."""
_PATIENCE_S = 10.0
"""For how long a response waits for room before its body is received. Then the call is given up, and made again when there is room."""


class RangeReader(Protocol):
    """Reads any range, by polling or by enhanced fan-out. Thread-safe."""

    def read(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        """Yield the pages of *shard_range* that have records, in order and trimmed to the range."""
        ...


def read_concurrently(
    groups: Sequence[RangeGroup],
    reader: RangeReader,
    threads: int,
    clock: Clock,
    max_buffered_bytes: int = MAX_BUFFERED_BYTES,
) -> Iterator[tuple[ShardRange, Page]]:
    """
    Yield the pages of all *groups*. Up to *threads* groups are read at the same time; within a group the order holds.

    Groups whose pages came with their ranges are first, and need no thread.

    Responses that are received, and pages that are not yielded or with the caller, have at most *max_buffered_bytes* together, or one
    response if that is larger. The caller has a page until it asks for the next one.

    Closing the iterator stops the threads. An error of any group is raised here at once.
    """
    kept = [group for group in groups if _is_kept(group)]
    called = [group for group in groups if not _is_kept(group)]
    budget = ByteBudget(find_limits().affordable_bytes(max_buffered_bytes))
    concurrent = ConcurrentReader(called, reader, threads, clock, budget)
    concurrent.start()
    try:
        for shard_range in chain.from_iterable(kept):
            for page in read_kept(shard_range, clock):
                yield shard_range, page
        yield from concurrent.pages()
    finally:
        concurrent.stop()


def _is_kept(group: RangeGroup) -> bool:
    return all(shard_range.page is not None for shard_range in group)


def read_kept(shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
    """Return the page that came with *shard_range*, trimmed to it. It makes no call."""
    progress = RangeProgress(shard_range, fail_on_data_loss=True)

    def pages() -> Generator[Page, None, None]:
        if shard_range.page is not None:
            page = replace(shard_range.page)  # a range may be read twice
            progress.take(page)
            yield page

    return logged(pages(), progress, clock)


class _StoppedError(Exception):
    """The caller has stopped reading."""


@define
class _Failed:
    """A thread ended with an error."""

    error: BaseException


class _Done:
    """A thread ended because no group is left."""


@frozen
class _Read:
    """A page, and its bytes in the budget."""

    range: ShardRange
    page: Page
    share: ByteShare


@define
class ConcurrentReader:
    """The threads that read groups, and the queue that carries their pages to the caller."""

    groups: Sequence[RangeGroup]
    reader: RangeReader
    threads: int
    clock: Clock
    budget: ByteBudget
    _waiting: queue.SimpleQueue[RangeGroup] = field(factory=queue.SimpleQueue, init=False)
    _read: queue.Queue[_Read | _Failed | _Done] = field(init=False)
    _stopped: threading.Event = field(factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._read = queue.Queue(PAGES_AHEAD)
        for group in self.groups:
            self._waiting.put(group)

    def start(self) -> None:
        """Start the threads, one per group at most."""
        count = min(self.threads, len(self.groups))
        if count:
            self._threads = start_threads(self._work, "kinesis-read", count)

    def pages(self) -> Iterator[tuple[ShardRange, Page]]:
        """Yield the pages of all groups; raise the first error of any thread."""
        left = len(self._threads)
        while left:
            item = self._read.get()
            if isinstance(item, _Failed):
                raise item.error
            if isinstance(item, _Done):
                left -= 1
            else:
                share, found = item.share, [(item.range, item.page)]
                del item
                yield found.pop()
                share.release()

    def stop(self) -> None:
        """Stop each thread after its current page. The threads are daemons, so no caller waits for a slow server."""
        if sys.is_finalizing():
            return  # they have ended, perhaps with a lock of the queue
        self._stopped.set()
        self.budget.close()
        while not self._read.empty():
            self._read.get_nowait()

    def _work(self) -> None:
        at_once = min(self.threads, len(self.groups))
        share = self.budget.share(self.budget.limit_bytes // (IN_FLIGHT * at_once), _PATIENCE_S)
        try:
            with receiving(share), closing(self._pages_of_waiting()) as pages:
                for shard_range, page in pages:
                    item = _Read(shard_range, page, share.hand_over(page.body_bytes))
                    del page
                    if not self._put(item):
                        return
                    del item  # it would stay in memory while the next page is read
        except BaseException as error:  # noqa: BLE001 # `pages` raises it in the caller's thread
            self._put(_Failed(error))
        else:
            self._put(_Done())
        finally:
            share.release()

    def _pages_of_waiting(self) -> Generator[tuple[ShardRange, Page], None, None]:
        clock = StoppableClock(self.clock, self._stopped.is_set, _StoppedError)
        while True:
            try:
                group = self._waiting.get_nowait()
            except queue.Empty:
                return
            for shard_range in group:
                with closing(self.reader.read(shard_range, clock)) as pages:
                    for page in pages:
                        yield shard_range, page
                        del page

    def _put(self, item: _Read | _Failed | _Done) -> bool:
        """Wait for room in the queue and put *item* there. Return False when the caller has stopped reading."""
        while not self._stopped.is_set():
            try:
                self._read.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False
