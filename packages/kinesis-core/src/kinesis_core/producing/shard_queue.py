"""One lane for each shard: what waits for it, what is on the way, and how fast it may go."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import accumulate

from attrs import define, field

from kinesis_core.producing.shard_batch import OpenAggregate, ShardBatch
from kinesis_core.producing.write_window import WriteWindow

REQUEST_BYTES = 2 * 1024 * 1024
"""
A request that holds so much is not filled up to the 10 MiB it may have: each connection needs the memory for it, and
larger ones are hardly faster. One record may be larger, and goes beside no other of its shard.
"""
_SMALL_BATCH = 250
"""Records. Larger parcels are not put together: requests are filled with whole ones, which costs nothing."""


@define(eq=False)
class ShardQueue:
    """What is to go to one shard. A throttled shard fills its own lane and holds up no other."""

    shard_id: str
    window: WriteWindow
    open_aggregate: OpenAggregate | None = field(default=None, init=False)
    batches: deque[ShardBatch] = field(factory=deque, init=False)
    is_gone: bool = field(default=False, init=False)
    """Whether its rows are to be sorted anew: the shard is no longer open, or rows are sorted in another way."""
    waiting_records: int = field(default=0, init=False)
    waiting_bytes: int = field(default=0, init=False)
    _in_flight_records: int = field(default=0, init=False)
    _in_flight_bytes: int = field(default=0, init=False)

    @property
    def is_full(self) -> bool:
        """Whether as much waits and flies as the shard takes in its window."""
        records = self.waiting_records + self._in_flight_records
        size_bytes = self.waiting_bytes + self._in_flight_bytes
        return records >= self.window.window_records or size_bytes >= self.window.window_bytes

    @property
    def is_sendable(self) -> bool:
        """Whether something waits, and at least one record of it may be sent beside what is on the way."""
        return bool(self.batches) and (
            not self._in_flight_records or self._fitting(self.batches[0], 1, REQUEST_BYTES) > 0
        )

    def next_s(self, *, hurry: bool) -> float:
        """Return when something is to be done for what waits, of which there is some."""
        state = self.batches[0].state
        due_s = max(self.window.rests_until_s, 0.0 if hurry else state.due_s)
        return min(state.deadline_s, due_s) if self.is_sendable else state.deadline_s

    def put(self, batch: ShardBatch, *, first: bool = False) -> None:
        self.waiting_records += len(batch.entries)
        self.waiting_bytes += batch.size_bytes
        if first:
            self.batches.appendleft(batch)
        else:
            self.batches.append(batch)

    def put_or_merge(self, batch: ShardBatch, now_s: float) -> None:
        """Let *parcel* wait as a part of the last one, if both are small, of one flush and not due yet."""
        last = self.batches[-1] if self.batches else None
        if (
            last is None
            or len(last.entries) + len(batch.entries) > _SMALL_BATCH
            or last.state.generation != batch.state.generation
            or last.state.due_s <= now_s
        ):
            self.put(batch)
            return
        last.absorb(batch)
        self.waiting_records += len(batch.entries)
        self.waiting_bytes += batch.size_bytes

    def take(self, room_records: int, room_bytes: int, *, must: bool) -> Iterator[ShardBatch]:
        """Yield what may be sent now; if it *must*, one record is, however large, when none is on the way."""
        while self.batches:
            batch = self.batches[0]
            count = self._fitting(batch, room_records, room_bytes)
            if not count and must and not self._in_flight_records:
                count = 1
            if not count:
                return
            taken = self._cut(batch, count)
            self._in_flight_records += count
            self._in_flight_bytes += taken.size_bytes
            room_records -= count
            room_bytes -= taken.size_bytes
            must = False
            yield taken

    def expired(self, now_s: float) -> list[ShardBatch]:
        """Return what waits and should have been written by now."""
        if not self.batches or self.batches[0].state.deadline_s > now_s:
            return []
        return [batch for batch in self.batches if batch.state.deadline_s <= now_s]

    def completed(self, batch: ShardBatch) -> None:
        """Note that a parcel is no longer on the way."""
        self._in_flight_records -= len(batch.entries)
        self._in_flight_bytes -= batch.size_bytes

    def clear(self) -> list[ShardBatch]:
        """Take out everything that waits."""
        batches = list(self.batches)
        self.batches.clear()
        self.waiting_records = self.waiting_bytes = 0
        return batches

    def _cut(self, batch: ShardBatch, count: int) -> ShardBatch:
        """Take *count* of the records of the queue's first parcel out of it."""
        self.batches.popleft()
        self.waiting_records -= len(batch.entries)
        self.waiting_bytes -= batch.size_bytes
        if count == len(batch.entries):
            return batch
        taken, rest = batch.cut(count)
        self.put(rest, first=True)
        return taken

    def _fitting(self, batch: ShardBatch, room_records: int, room_bytes: int) -> int:
        """Return how many of the first records of *parcel* fit into the request and into the shard's window."""
        room_records = min(room_records, self.window.window_records - self._in_flight_records)
        room_bytes = min(room_bytes, self.window.window_bytes - self._in_flight_bytes)
        if batch.size_bytes <= room_bytes:
            return max(0, min(room_records, len(batch.entries)))
        return max(0, min(room_records, bisect_right(list(accumulate(batch.sizes())), room_bytes)))
