"""Packs user records for their shards: many into an aggregate, or each into a record of its own."""

from __future__ import annotations

from attrs import define

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.producing.in_flight import Ledger
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.shard_batch import Box, Label, Parcel, plain_parcel
from kinesis_core.producing.shard_queue import Lane


@define(eq=False)
class Packer:
    """Fills lanes. Every parcel that it lets wait is entered in the ledger."""

    settings: ProducerSettings
    max_record_bytes: int
    ledger: Ledger
    aggregates: bool
    """Whether user records share records."""

    def pack(self, lane: Lane, rows: Rows, label: Label, now_s: float) -> None:
        """Take in *rows*, which share an aggregate, or a parcel, with what came before and what comes next."""
        if not self.aggregates:
            parcel = plain_parcel(lane, rows, label)
            self.ledger.enter(parcel)
            lane.put_or_merge(parcel, now_s)
            return
        before_bytes = lane.box.held_bytes if lane.box else 0
        lane.box = self._fill_boxes(lane, rows, label, lane.box)
        self.ledger.boxed_bytes += (lane.box.held_bytes if lane.box else 0) - before_bytes

    def repack(self, lane: Lane, rows: Rows, label: Label, *, is_plain: bool = False) -> None:
        """Take in *rows* that were packed before: they go as soon as they may, and share with no others."""
        if is_plain or not self.aggregates:
            self._enqueue(lane, plain_parcel(lane, rows, label))
            return
        box = self._fill_boxes(lane, rows, label, None)
        if box is not None:
            self._enqueue(lane, box.close(lane))

    def seal(self, lane: Lane) -> None:
        """Close the lane's box: nothing in it waits for more to come."""
        box, lane.box = lane.box, None
        if box is not None:
            self.ledger.boxed_bytes -= box.held_bytes
            self._enqueue(lane, box.close(lane))

    def _fill_boxes(self, lane: Lane, rows: Rows, label: Label, box: Box | None) -> Box | None:
        """Put *rows* into *box* and further ones, let the full ones wait as parcels, and return the last, if open."""
        place = 0
        while place < len(rows):
            box = box or self._new_box(label)
            place = box.extend(rows, place)
            if place == len(rows):
                return box
            if box.builder.count:
                self._enqueue(lane, box.close(lane))
            else:  # too large to share an aggregate with anything
                self._enqueue(lane, plain_parcel(lane, rows.part(place, place + 1), label))
                place += 1
            box = None
        return None

    def _new_box(self, label: Label) -> Box:
        largest_bytes = min(self.settings.aggregation_max_size, self.max_record_bytes - 1)
        return Box(AggregateBuilder(largest_bytes), label)

    def _enqueue(self, lane: Lane, parcel: Parcel) -> None:
        self.ledger.enter(parcel)
        lane.put(parcel)
