"""Packs user records into the batches of their shard: many into an aggregate, or each into a separate record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from attrs import define, field

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.model import EntryColumns, NativeEntries, PutEntry, entry_sizes
from kinesis_core.native import find_native
from kinesis_core.producing.counts import InFlightCounts
from kinesis_core.producing.rows import NativeRows, RowColumns, Rows
from kinesis_core.producing.shard_map import hash_of
from kinesis_core.producing.shard_queue import SendState, ShardBatch, ShardQueue

AGGREGATE_KEY = "a"
"""The partition key of every aggregate, as in the KPL. An explicit hash key routes the aggregate."""


class NativeBuilder(Protocol):
    """An `AggregateBuilder` of kinesis-native, which knows the first user record."""

    @property
    def count(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def extend(self, rows: NativeRows, start: int) -> int: ...

    def close(self) -> NativeEntries: ...


@define(eq=False)
class OpenAggregate(ABC):
    """User records of one shard that are buffered to share an aggregate. Its builder counts them."""

    state: SendState
    builder: AggregateBuilder | NativeBuilder

    @property
    def count(self) -> int:
        """The number of user records."""
        return self.builder.count

    @property
    def size_bytes(self) -> int:
        """The size of the aggregate if it were closed now."""
        return self.builder.size_bytes

    @abstractmethod
    def extend(self, rows: Rows, start: int) -> int:
        """
        Add rows from index *start* on until one does not fit. Returns the index of that one, or the number of rows.

        Rows of another kind do not fit: those of kinesis-native and those of Python do not share an aggregate.
        """

    @abstractmethod
    def entries(self) -> Sequence[PutEntry]:
        """Return the record that holds all user records, or the user record itself if there is only one."""


@define(eq=False)
class RowAggregate(OpenAggregate):
    """An open aggregate that Python builds."""

    builder: AggregateBuilder
    first: Rows = field(default=Rows((), ()), init=False)
    """The first user record."""

    def extend(self, rows: Rows, start: int) -> int:
        if isinstance(rows, RowColumns):
            return start
        if not self.builder.count:
            self.first = rows.part(start, start + 1)
        if rows.hash_keys is None:
            return self.builder.extend(rows.data, rows.keys, start)
        while start < len(rows) and self.builder.add(
            rows.data[start], rows.keys[start], rows.hash_keys[start]
        ):
            start += 1
        return start

    def entries(self) -> Sequence[PutEntry]:
        """
        Return the record that holds all user records.

        It has the hash key of the first user record: the shard owns that hash key. After a split, the child that owns
        it owns the first user record too.
        """
        if self.count == 1:
            return row_entries(self.first)
        hash_key = hash_of(self.first.keys[0], self.first.hash_key(0))
        return [PutEntry(self.builder.build(), AGGREGATE_KEY, str(hash_key))]


@define(eq=False)
class ColumnAggregate(OpenAggregate):
    """An open aggregate that kinesis-native builds: the same bytes."""

    builder: NativeBuilder

    def extend(self, rows: Rows, start: int) -> int:
        return self.builder.extend(rows.native, start) if isinstance(rows, RowColumns) else start

    def entries(self) -> Sequence[PutEntry]:
        return EntryColumns(self.builder.close())


def row_entries(rows: Rows) -> Sequence[PutEntry]:
    """Return a record for each row."""
    if isinstance(rows, RowColumns):
        return rows.entries()
    if rows.hash_keys is None:
        return list(map(PutEntry, rows.data, rows.keys))
    return list(map(PutEntry, rows.data, rows.keys, rows.hash_keys))


@define(eq=False)
class Packer:
    """Fills the queues, and counts each batch that it puts into one."""

    most_bytes: int
    """The size limit of an aggregate."""
    counts: InFlightCounts
    aggregates: bool
    """Whether user records share records."""
    opened: dict[ShardQueue, OpenAggregate] = field(factory=dict, init=False)
    """The aggregates that are not full yet. None of them is empty."""

    def pack(self, queue: ShardQueue, rows: Rows, state: SendState, now_s: float) -> None:
        """Pack *rows*. They share an aggregate, or a batch, with earlier and later rows of the shard."""
        if not self.aggregates:
            batch = plain_batch(queue, rows, state)
            self.counts.add(batch)
            queue.put_or_merge(batch, now_s)
            return
        before = self.opened.pop(queue, None)
        before_bytes = before.size_bytes if before else 0
        after = self._fill_aggregates(queue, rows, state, before)
        if after:
            self.opened[queue] = after
        self.counts.hold(open_aggregate_bytes=(after.size_bytes if after else 0) - before_bytes)

    def repack(self, queue: ShardQueue, rows: Rows, state: SendState, *, is_plain: bool = False) -> None:
        """Pack *rows* again, into batches that share with no other rows. With *is_plain*, each row becomes a record."""
        if is_plain or not self.aggregates:
            self._enqueue(queue, plain_batch(queue, rows, state))
            return
        open_aggregate = self._fill_aggregates(queue, rows, state, None)
        if open_aggregate:
            self._enqueue(queue, close_aggregate(queue, open_aggregate))

    def seal(self, until_s: float = math.inf) -> None:
        """Close the open aggregates that are due until *until_s*, and put them into their queues."""
        for queue in [queue for queue, opened in self.opened.items() if opened.state.due_s <= until_s]:
            self.close(queue)

    def close(self, queue: ShardQueue) -> None:
        """Close the open aggregate of *queue*, if there is one, and put it into the queue."""
        open_aggregate = self.opened.pop(queue, None)
        if open_aggregate:
            self.counts.hold(open_aggregate_bytes=-open_aggregate.size_bytes)
            self._enqueue(queue, close_aggregate(queue, open_aggregate))

    def _fill_aggregates(
        self, queue: ShardQueue, rows: Rows, state: SendState, open_aggregate: OpenAggregate | None
    ) -> OpenAggregate | None:
        """
        Add *rows* to *open_aggregate* and to new ones, and put the full ones into the queue.

        Returns the last aggregate if it is still open.
        """
        index = 0
        while index < len(rows):
            open_aggregate = open_aggregate or self._new_aggregate(rows, state)
            index = open_aggregate.extend(rows, index)
            if index == len(rows):
                return open_aggregate
            if open_aggregate.count:
                self._enqueue(queue, close_aggregate(queue, open_aggregate))
            else:  # this row fits into no aggregate: it is too large, or an aggregate itself
                self._enqueue(queue, plain_batch(queue, rows.part(index, index + 1), state))
                index += 1
            open_aggregate = None
        return None

    def _new_aggregate(self, rows: Rows, state: SendState) -> OpenAggregate:
        if isinstance(rows, RowColumns):
            return ColumnAggregate(state, find_native().AggregateBuilder(self.most_bytes))
        return RowAggregate(state, AggregateBuilder(self.most_bytes))

    def _enqueue(self, queue: ShardQueue, batch: ShardBatch) -> None:
        self.counts.add(batch)
        queue.put(batch)


def plain_batch(queue: ShardQueue, rows: Rows, state: SendState) -> ShardBatch:
    """Return a batch with one record for each row."""
    return ShardBatch(queue, row_entries(rows), rows.size_bytes(), len(rows), state)


def close_aggregate(queue: ShardQueue, open_aggregate: OpenAggregate) -> ShardBatch:
    """Return a batch with the aggregate, or with the user record itself if there is only one."""
    count, entries = open_aggregate.count, open_aggregate.entries()
    size_bytes = sum(entry_sizes(entries))
    return ShardBatch(queue, entries, size_bytes, count, open_aggregate.state, is_aggregate=count > 1)
