"""Reads many ranges at once: chains side by side, the ranges of one chain one after the other."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.pages import Page
from kinesis_core.ranges import Chain, ShardRange
from kinesis_core.reader import RangeReader, ReadSettings
from kinesis_core.stream_api import StreamApi

PAGES_AHEAD = 2
"""Pages waiting for the consumer; each reading thread holds one more. A page has at most 10 MiB of data."""

ApiFor = Callable[[str], StreamApi]
"""Returns the door to a stream, by the name that its ranges carry."""


def read_chains(
    chains: Sequence[Chain],
    api_for: ApiFor,
    settings: ReadSettings,
    clock: Clock,
    rng: random.Random,
    *,
    with_data: bool = True,
) -> Iterator[tuple[ShardRange, Page]]:
    """
    Yield the pages of all *chains*, in order within a chain, while up to `settings.threads` are read ahead.

    Without *with_data* the records' data is not decoded. Closing the iterator stops the reading. An error of any chain is raised here at once.
    """
    crew = _Crew(chains, api_for, settings, clock, rng, with_data)
    crew.start()
    try:
        yield from crew.pages()
    finally:
        crew.stop()


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
    """One thread has no chain left."""


@define
class _Crew:
    chains: Sequence[Chain]
    api_for: ApiFor
    settings: ReadSettings
    clock: Clock
    rng: random.Random
    with_data: bool
    _waiting: queue.SimpleQueue[Chain] = field(factory=queue.SimpleQueue, init=False)
    _read: queue.Queue[tuple[ShardRange, Page] | _Failed | _Done] = field(init=False)
    _stopped: threading.Event = field(factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._read = queue.Queue(PAGES_AHEAD)
        for chain in self.chains:
            self._waiting.put(chain)

    def start(self) -> None:
        count = min(self.settings.threads, len(self.chains))
        self._threads = [
            threading.Thread(target=self._work, name="kinesis-read", daemon=True) for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def pages(self) -> Iterator[tuple[ShardRange, Page]]:
        left = len(self._threads)
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
            for shard_range, page in self._pages_of_waiting():
                if not self._hand_over((shard_range, page)):
                    return
        except BaseException as error:  # noqa: BLE001 # whatever it is, the consumer raises it
            self._hand_over(_Failed(error))
        else:
            self._hand_over(_Done())

    def _pages_of_waiting(self) -> Iterator[tuple[ShardRange, Page]]:
        clock = _StoppableClock(self.clock, self._stopped)
        while True:
            try:
                chain = self._waiting.get_nowait()
            except queue.Empty:
                return
            for shard_range in chain:
                api = self.api_for(shard_range.stream)
                reader = RangeReader(api, shard_range, self.settings, clock, self.rng, self.with_data)
                for page in reader.pages():
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
