"""Merges the user records of several ranges by their arrival time."""

from __future__ import annotations

import queue
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, islice

from attrs import define, field

from kinesis_core.model import Listing, ShardRange, ancestors
from kinesis_core.reading.columns import UserRecord
from kinesis_core.threads import start_threads

RecordLists = Iterator[list[UserRecord]]


@define
class RangeSource:
    """One range. *open* starts to read it."""

    open: Callable[[], RecordLists]
    after: frozenset[int] = frozenset()
    """The indexes of the sources that have to end before this one begins: those of the shard's ancestors."""


def ranges_after(ranges: Sequence[ShardRange], listing: Listing) -> list[frozenset[int]]:
    """
    Return for each of *ranges* the indexes of those of its ancestors.

    *ranges* has parents first. A shard that Kinesis no longer lists waits for all ranges before it: its parents are unknown.
    """
    index = {shard_range.shard_id: number for number, shard_range in enumerate(ranges)}
    return [
        frozenset(
            index[shard_id] for shard_id in ancestors([shard_range.shard_id], listing) if shard_id in index
        )
        if shard_range.shard_id in listing
        else frozenset(range(number))
        for number, shard_range in enumerate(ranges)
    ]


def merge_by_arrival(sources: Sequence[RangeSource]) -> Generator[list[UserRecord], None, None]:
    """
    Yield all records of *sources* in lists, by arrival time.

    The records of one source keep their order, even if their times decrease, and a source comes after those that it
    waits for. Of each source one list is held at a time.
    """
    merge = _Merge(dict(enumerate(sources)))
    try:
        while heads := merge.heads():
            yield _earliest(heads)
    finally:
        merge.close()


@define
class _Head:
    """The list that a source has delivered last, and how much of it is left."""

    lists: RecordLists
    records: list[UserRecord] = field(factory=list)
    times: list[int] = field(factory=list)
    """For each record the latest arrival time so far, which never decreases."""
    begin: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.begin >= len(self.records)

    def fetch(self) -> bool:
        """Wait for the next list with records. Return False if the source has ended."""
        last = self.times[-1] if self.times else 0
        for records in self.lists:
            if records:
                self.records, self.begin = records, 0
                arrived = (record.arrived_ms or 0 for record in records)
                self.times = list(islice(accumulate(arrived, max, initial=last), 1, None))
                return True
        return False


@define
class _Merge:
    """The sources that wait, and those that are read."""

    waiting: dict[int, RangeSource]
    reading: dict[int, _Head] = field(factory=dict)

    def heads(self) -> list[_Head]:
        """Return the sources that are read, each with records. An empty list is the end."""
        while True:
            ended = [index for index, head in self.reading.items() if head.is_used_up and not head.fetch()]
            for index in ended:
                del self.reading[index]
            if not self._start():
                return list(self.reading.values())

    def _start(self) -> bool:
        """Start the sources that wait for none any more. Return False if there are none."""
        unfinished = self.waiting.keys() | self.reading.keys()
        ready = [index for index, source in self.waiting.items() if not source.after & unfinished]
        started = {index: _Head(self.waiting.pop(index).open()) for index in ready}
        self.reading |= started
        _fetch_all(list(started.values()))
        return bool(started)

    def close(self) -> None:
        for head in self.reading.values():
            if isinstance(head.lists, Generator):
                with suppress(ValueError):  # its first list is still fetched, and it ends after that
                    head.lists.close()


def _fetch_all(heads: Sequence[_Head]) -> None:
    """
    Wait for the first lists of *heads*, which are fetched at the same time.

    The threads are daemons: who is interrupted does not wait for a slow server.
    """
    if not heads:
        return
    waiting = iter(heads)  # next() of it is atomic
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def fetch() -> None:
        for head in waiting:
            try:
                head.fetch()
            except BaseException as error:  # noqa: BLE001 # it is raised in the caller's thread
                ended.put(error)
                return
            ended.put(None)

    start_threads(fetch, "kinesis-merge", len(heads))
    for _ in heads:
        if (error := ended.get()) is not None:
            raise error


def _earliest(heads: Iterable[_Head]) -> list[UserRecord]:
    """Take the records out of *heads* up to the time that all of them have reached. At least one head is used up."""
    heads = list(heads)
    until = min(head.times[-1] for head in heads)
    records: list[UserRecord] = []
    times: list[int] = []
    for head in heads:
        end = bisect_right(head.times, until, head.begin)
        records += head.records[head.begin : end]
        times += head.times[head.begin : end]
        head.begin = end
    if len(heads) == 1:
        return records
    return [records[index] for index in sorted(range(len(records)), key=times.__getitem__)]
