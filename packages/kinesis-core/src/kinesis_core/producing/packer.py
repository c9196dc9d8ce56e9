"""Packs user records into the batches of their shard: many into an aggregate, or each into a record of its own."""

from __future__ import annotations

from attrs import define

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.model import entry_sizes
from kinesis_core.native import find_native
from kinesis_core.producing.in_flight import InFlightCounts
from kinesis_core.producing.open_aggregate import (
    ColumnAggregate,
    OpenAggregate,
    RowAggregate,
    held_bytes,
    row_entries,
)
from kinesis_core.producing.row_columns import RowColumns
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.send_state import SendState
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.shard_queue import ShardBatch, ShardQueue


@define(eq=False)
class Packer:
    """Fills the queues, and counts each batch that it puts into one."""

    settings: ProducerSettings
    max_record_bytes: int
    counts: InFlightCounts
    aggregates: bool
    """Whether user records share records."""

    def pack(self, queue: ShardQueue, rows: Rows, state: SendState, now_s: float) -> None:
        """Pack *rows*. They share an aggregate, or a batch, with earlier and later rows of the shard."""
        if not self.aggregates:
            batch = plain_batch(queue, rows, state)
            self.counts.add(batch)
            queue.put_or_merge(batch, now_s)
            return
        before_bytes = held_bytes(queue.open_aggregate)
        queue.open_aggregate = self._fill_aggregates(queue, rows, state, queue.open_aggregate)
        self.counts.hold(open_aggregate_bytes=held_bytes(queue.open_aggregate) - before_bytes)

    def repack(self, queue: ShardQueue, rows: Rows, state: SendState, *, is_plain: bool = False) -> None:
        """Pack *rows* again, into batches that share with no other rows. With *is_plain*, each row becomes a record."""
        if is_plain or not self.aggregates:
            self._enqueue(queue, plain_batch(queue, rows, state))
            return
        open_aggregate = self._fill_aggregates(queue, rows, state, None)
        if open_aggregate is not None:
            self._enqueue(queue, close_aggregate(queue, open_aggregate))

    def seal(self, queue: ShardQueue) -> None:
        """Close the open aggregate of the queue and put it into the queue."""
        open_aggregate, queue.open_aggregate = queue.open_aggregate, None
        if open_aggregate is not None:
            self.counts.hold(open_aggregate_bytes=-held_bytes(open_aggregate))
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
        largest_bytes = min(self.settings.aggregation_max_size, self.max_record_bytes - 1)
        if isinstance(rows, RowColumns):
            return ColumnAggregate(find_native().AggregateBuilder(largest_bytes), state)
        return RowAggregate(AggregateBuilder(largest_bytes), state)

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
