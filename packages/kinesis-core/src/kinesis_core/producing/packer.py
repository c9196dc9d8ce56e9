"""Packs user records for their shards: many into an aggregate, or each into a record of its own."""

from __future__ import annotations

from attrs import define

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.producing.in_flight import InFlightCounts
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.shard_batch import OpenAggregate, SendState, ShardBatch, plain_batch
from kinesis_core.producing.shard_queue import ShardQueue


@define(eq=False)
class Packer:
    """Fills lanes. Every parcel that it lets wait is entered in the ledger."""

    settings: ProducerSettings
    max_record_bytes: int
    counts: InFlightCounts
    aggregates: bool
    """Whether user records share records."""

    def pack(self, queue: ShardQueue, rows: Rows, state: SendState, now_s: float) -> None:
        """Take in *rows*, which share an aggregate, or a parcel, with what came before and what comes next."""
        if not self.aggregates:
            batch = plain_batch(queue, rows, state)
            self.counts.add(batch)
            queue.put_or_merge(batch, now_s)
            return
        before_bytes = queue.open_aggregate.held_bytes if queue.open_aggregate else 0
        queue.open_aggregate = self._fill_aggregates(queue, rows, state, queue.open_aggregate)
        self.counts.open_aggregate_bytes += (
            queue.open_aggregate.held_bytes if queue.open_aggregate else 0
        ) - before_bytes

    def repack(self, queue: ShardQueue, rows: Rows, state: SendState, *, is_plain: bool = False) -> None:
        """Take in *rows* that were packed before: they go as soon as they may, and share with no others."""
        if is_plain or not self.aggregates:
            self._enqueue(queue, plain_batch(queue, rows, state))
            return
        open_aggregate = self._fill_aggregates(queue, rows, state, None)
        if open_aggregate is not None:
            self._enqueue(queue, open_aggregate.close(queue))

    def seal(self, queue: ShardQueue) -> None:
        """Close the lane's box: nothing in it waits for more to come."""
        open_aggregate, queue.open_aggregate = queue.open_aggregate, None
        if open_aggregate is not None:
            self.counts.open_aggregate_bytes -= open_aggregate.held_bytes
            self._enqueue(queue, open_aggregate.close(queue))

    def _fill_aggregates(
        self, queue: ShardQueue, rows: Rows, state: SendState, open_aggregate: OpenAggregate | None
    ) -> OpenAggregate | None:
        """Put *rows* into *box* and further ones, let the full ones wait as parcels, and return the last, if open."""
        place = 0
        while place < len(rows):
            open_aggregate = open_aggregate or self._new_aggregate(state)
            place = open_aggregate.extend(rows, place)
            if place == len(rows):
                return open_aggregate
            if open_aggregate.builder.count:
                self._enqueue(queue, open_aggregate.close(queue))
            else:  # too large to share an aggregate with anything
                self._enqueue(queue, plain_batch(queue, rows.part(place, place + 1), state))
                place += 1
            open_aggregate = None
        return None

    def _new_aggregate(self, state: SendState) -> OpenAggregate:
        largest_bytes = min(self.settings.aggregation_max_size, self.max_record_bytes - 1)
        return OpenAggregate(AggregateBuilder(largest_bytes), state)

    def _enqueue(self, queue: ShardQueue, batch: ShardBatch) -> None:
        self.counts.add(batch)
        queue.put(batch)
