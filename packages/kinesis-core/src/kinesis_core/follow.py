"""
Following a stream: batch after batch, or record batch after record batch, until a limit or without an end.

Without limits a batch is what was planned, and whoever has it reads it. With a limit, records have to be counted. So they are read here
first, and a batch holds some of the pages of a plan. Where reading stops inside a plan, the offset says of each shard how far it was read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from math import inf
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from kinesis_core.batch import ArrowForms, Batch, BatchPart, Pages, ReadGroups
from kinesis_core.clock import Clock
from kinesis_core.errors import OptionError
from kinesis_core.model import (
    After,
    At,
    Listing,
    Offset,
    Page,
    RangeGroup,
    ShardOffset,
    ShardRange,
    StreamOffset,
    data_bytes,
)

HELD_BYTES = 16 * 1024 * 1024
"""With a limit, a batch that has as much data is complete. So it has at most a page of 10 MiB more."""


@frozen
class Planned:
    """A batch that was planned. With equal offsets there is nothing to read yet."""

    start: Offset
    end: Offset
    groups: Sequence[RangeGroup] = ()

    @property
    def is_new(self) -> bool:
        return self.end is not self.start


@frozen
class FollowLimits:
    """When a follow ends."""

    max_records: int | None = None
    max_bytes: int | None = None
    max_seconds: float | None = None

    def __attrs_post_init__(self) -> None:
        for name, limit in asdict(self).items():
            if limit is not None and not limit > 0:
                raise OptionError(f"{name} is {limit}. Use a number above 0, or None for no limit.")

    @property
    def are_set(self) -> bool:
        return self != FollowLimits()


@define(eq=False)
class Follow(ArrowForms, Iterator[Batch]):
    """
    What `Stream.follow` returns: an iterator over batches, and also a stream of Arrow record batches. You do not create it.

    An engine that takes Arrow, such as DuckDB or Polars, reads it as it reads a `Batch`: it gets each page as it comes. Without a limit or
    *until*, that never ends.

    It can be read once, in one of these ways. Nothing is read before the first batch is asked for.
    """

    _following: Following
    _batches: Generator[Batch, None, None] | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"<Follow of {self._following.name}>"

    @property
    def offset(self) -> dict[str, Any] | None:
        """
        The end of the last batch, or of the last Arrow record batch that was taken. Pass it to `Stream.follow` as *start* to continue
        exactly there. None before anything was asked for.

        An engine may take more record batches than it needs, as with `LIMIT 10`. They count as read.
        """
        reached = self._following.reached
        return None if reached is None else reached.offset().to_json()

    def __next__(self) -> Batch:
        """
        Return the next batch. Wait for it while there are no new records.

        Raises:
            StopIteration: A limit is reached, or all records that arrived before *until* are read.
            RuntimeError: An engine reads the records as Arrow.
            OptionError, OffsetError, DataLossError, ServiceError: As in `Stream.read`.
        """
        if self._batches is None:
            self._following.begin()
            self._batches = self._following.batches()
        return next(self._batches)

    def close(self) -> None:
        """End the follow, with its threads. Idempotent."""
        if self._batches is not None:
            self._batches.close()

    def _parts(self, needs_data: bool) -> Generator[BatchPart, None, None]:
        name = self._following.name
        self._following.begin()
        with closing(self._following.pages(needs_data)) as pages:
            for reached, part in pages:
                if part is not None:
                    reached.take(*part)
                    shard_range, page = part
                    skip = shard_range.skip(page)
                    yield BatchPart(page, name, shard_range.stream, shard_range.shard_id, skip)


@define
class _Reached:
    """How far a planned batch was read."""

    planned: Planned
    is_done: bool = False
    _ends: dict[str, ShardOffset] = field(factory=dict, init=False)
    """The shards that were read in part or as a whole."""
    _parents: Mapping[str, Sequence[ShardRange]] = field(init=False)
    """The ranges that are read before the one of a shard."""

    def __attrs_post_init__(self) -> None:
        related = (group for group in self.planned.groups if len(group) > 1)
        self._parents = {part.shard_id: group[:i] for group in related for i, part in enumerate(group)}

    def take(self, shard_range: ShardRange, page: Page) -> None:
        """Note that *page* was read."""
        last, start, ends = page.records[-1], shard_range.start, self._end.shards
        parents = self._parents.get(shard_range.shard_id, ())
        self._ends.update((part.shard_id, ends[part.shard_id]) for part in parents)
        cut = After(last.number)
        skip = start.skip if isinstance(start, At) else 0
        is_last = shard_range.end == cut
        end = ends[shard_range.shard_id] if is_last else ShardOffset(cut, last.arrived_ms, start.number, skip)
        self._ends[shard_range.shard_id] = end

    def offset(self) -> Offset:
        """Return the offset after what was read."""
        if self.is_done:
            return self.planned.end
        ((name, start),) = self.planned.start.streams.items()
        unread = {part.shard_id for group in self.planned.groups for part in group} - self._ends.keys()
        # A plan forgets a finished shard once it names the children. These may be missing here, so the shard stays.
        shards = {
            shard_id: before if shard_id in unread else self._end.shards.get(shard_id, before)
            for shard_id, before in start.shards.items()
        }
        return Offset({name: evolve(self._end, shards={**shards, **self._ends})})

    @property
    def _end(self) -> StreamOffset:
        (end,) = self.planned.end.streams.values()
        return end


@define
class Following:
    """The reading of a stream that is followed."""

    name: str
    limits: FollowLimits
    _plan: Callable[[], Generator[Planned, None, None]]
    """Yields where reading starts, then the batches."""
    _read: ReadGroups
    _list: Callable[[], Listing]
    _clock: Clock
    reached: _Reached | None = field(default=None, init=False)
    _records_left: float = field(default=inf, init=False)
    _bytes_left: float = field(default=inf, init=False)
    _until_s: float = field(default=inf, init=False)
    _has_begun: bool = field(default=False, init=False)
    _is_first: bool = field(default=True, init=False)
    _is_over: bool = field(default=False, init=False)

    def begin(self) -> None:
        """
        Count the limits from now on.

        Raises:
            RuntimeError: It has begun before.
        """
        if self._has_begun:
            raise RuntimeError(
                "This follow has been read. It can be read once, as batches or as Arrow. Call Stream.follow again, with its offset as start."
            )
        self._has_begun = True
        limits = self.limits
        self._records_left = inf if limits.max_records is None else limits.max_records
        self._bytes_left = inf if limits.max_bytes is None else limits.max_bytes
        self._until_s = inf if limits.max_seconds is None else self._clock.now_s() + limits.max_seconds

    def batches(self) -> Generator[Batch, None, None]:
        """Yield batches: those that are planned, or with a limit the records that fit it."""
        return self._held() if self.limits.are_set else self._planned()

    def _planned(self) -> Generator[Batch, None, None]:
        with closing(self._plan()) as plans:
            for planned in plans:
                self.reached = _Reached(planned, is_done=True)
                if planned.is_new:
                    yield make_batch(self.name, planned.end, planned.groups, self._read, self._list)

    def _held(self) -> Generator[Batch, None, None]:
        held = list[tuple[ShardRange, Page]]()
        size_bytes = 0
        with closing(self.pages(needs_data=True)) as pages:
            for reached, part in pages:
                if part is not None:
                    held.append(part)
                    size_bytes += data_bytes(part[1].records)
                if part is None or size_bytes >= HELD_BYTES:
                    yield self._hold(reached, held)
                    held, size_bytes = [], 0
        if held:
            yield self._hold(reached, held)

    def _hold(self, reached: _Reached, held: Sequence[tuple[ShardRange, Page]]) -> Batch:
        """Return a batch of pages that are in memory."""
        parts: dict[ShardRange, list[Page]] = {}
        for shard_range, page in held:
            reached.take(shard_range, page)
            parts.setdefault(shard_range, []).append(page)
        exact = {part: _part_of(part, pages) for part, pages in parts.items()}
        chosen = (tuple(exact[p] for p in group if p in exact) for group in reached.planned.groups)
        pages = HeldPages({part.shard_id: pages for part, pages in parts.items()}, self._read)
        return make_batch(
            self.name, reached.offset(), [group for group in chosen if group], pages.read, self._list
        )

    def pages(
        self, needs_data: bool
    ) -> Generator[tuple[_Reached, tuple[ShardRange, Page] | None], None, None]:
        """Yield pages within the limits, and None at the end of each planned batch. The caller notes which ones it delivers."""
        needs_data = needs_data or self.limits.max_bytes is not None
        with closing(self._plan()) as plans:
            for planned in plans:
                self.reached = reached = _Reached(planned)
                if self._is_late():
                    return
                for part in self._pages_of(planned, needs_data) if planned.groups else ():
                    yield reached, part
                if self._is_over:
                    return
                reached.is_done = True
                if planned.is_new:
                    yield reached, None

    def _pages_of(self, planned: Planned, needs_data: bool) -> Pages:
        groups = planned.groups
        if self.limits.are_set:  # what is left over is read first by the next follow
            (start,) = planned.start.streams.values()
            groups = sorted(groups, key=lambda group: start.started(group[0].shard_id).arrived_ms or 0)
        for shard_range, page in self._read(groups, needs_data, inf):
            if self._is_late():
                return
            self._fit(page)
            if page.records:
                yield shard_range, page
            if self._is_over:
                return

    def _is_late(self) -> bool:
        self._is_over = self._is_over or self._clock.now_s() >= self._until_s
        return self._is_over

    def _fit(self, page: Page) -> None:
        """Cut off the records that are more than what is left of the limits. The very first record always fits."""
        records = page.records
        count = int(min(len(records), self._records_left))
        if data_bytes(records) > self._bytes_left:
            ends = list(accumulate(len(record.data) for record in records))
            count = min(count, max(int(self._is_first), bisect_right(ends, self._bytes_left)))
        page.records = records[:count]
        self._is_first = False
        self._records_left -= count
        self._bytes_left -= data_bytes(page.records)
        self._is_over = count < len(records) or self._records_left <= 0 or self._bytes_left <= 0


@frozen
class HeldPages:
    """Pages in memory, by shard. A pickled copy reads them from Kinesis again."""

    pages: Mapping[str, Sequence[Page]]
    _read_again: ReadGroups

    def __reduce__(self) -> tuple[type[HeldPages], tuple[Mapping[str, Sequence[Page]], ReadGroups]]:
        return HeldPages, ({}, self._read_again)

    def read(self, groups: Sequence[RangeGroup], with_data: bool, max_page_bytes: float) -> Pages:
        """Yield the pages of *groups*."""
        if not self.pages:
            return self._read_again(groups, with_data, max_page_bytes)
        return ((part, page) for group in groups for part in group for page in self.pages[part.shard_id])


def _part_of(whole: ShardRange, pages: Sequence[Page]) -> ShardRange:
    """Return the range of the records on *pages*, which are some of those of a range."""
    first, last = pages[0].records[0], pages[-1].records[-1]
    return evolve(whole, start=At(first.number, whole.skip(pages[0])), end=After(last.number))


def make_batch(
    name: str,
    end: Offset,
    groups: Sequence[RangeGroup],
    read: ReadGroups,
    list_shards: Callable[[], Listing],
) -> Batch:
    """Return the batch that ends at an offset."""
    times = [shard.arrived_ms for part in end.streams.values() for shard in part.shards.values()]
    ends_ms = max((ms for ms in times if ms), default=None)
    return Batch(end.to_json(), name, groups, read, list_shards, ends_ms)
