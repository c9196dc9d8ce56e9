"""One lane for each shard: what waits for it, what is on the way, and how fast it may go."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import accumulate

from attrs import define, field

from kinesis_core.producing.shard_batch import Box, Parcel
from kinesis_core.producing.write_window import ShardPace

REQUEST_BYTES = 2 * 1024 * 1024
"""
A request that holds so much is not filled up to the 10 MiB it may have: each connection needs the memory for it, and
larger ones are hardly faster. One record may be larger, and goes beside no other of its shard.
"""
_SMALL_PARCEL = 250
"""Records. Larger parcels are not put together: requests are filled with whole ones, which costs nothing."""


@define(eq=False)
class Lane:
    """What is to go to one shard. A throttled shard fills its own lane and holds up no other."""

    shard_id: str
    pace: ShardPace
    box: Box | None = field(default=None, init=False)
    queue: deque[Parcel] = field(factory=deque, init=False)
    is_gone: bool = field(default=False, init=False)
    """Whether its rows are to be sorted anew: the shard is no longer open, or rows are sorted in another way."""
    waiting_records: int = field(default=0, init=False)
    waiting_bytes: int = field(default=0, init=False)
    _flying_records: int = field(default=0, init=False)
    _flying_bytes: int = field(default=0, init=False)

    @property
    def is_full(self) -> bool:
        """Whether as much waits and flies as the shard takes in its window."""
        records = self.waiting_records + self._flying_records
        size_bytes = self.waiting_bytes + self._flying_bytes
        return records >= self.pace.window_records or size_bytes >= self.pace.window_bytes

    @property
    def can_fly(self) -> bool:
        """Whether something waits, and at least one record of it may be sent beside what is on the way."""
        return bool(self.queue) and (
            not self._flying_records or self._fitting(self.queue[0], 1, REQUEST_BYTES) > 0
        )

    def next_s(self, *, hurry: bool) -> float:
        """Return when something is to be done for what waits, of which there is some."""
        label = self.queue[0].label
        due_s = max(self.pace.rests_until_s, 0.0 if hurry else label.due_s)
        return min(label.deadline_s, due_s) if self.can_fly else label.deadline_s

    def put(self, parcel: Parcel, *, first: bool = False) -> None:
        self.waiting_records += len(parcel.entries)
        self.waiting_bytes += parcel.size_bytes
        if first:
            self.queue.appendleft(parcel)
        else:
            self.queue.append(parcel)

    def put_or_merge(self, parcel: Parcel, now_s: float) -> None:
        """Let *parcel* wait as a part of the last one, if both are small, of one flush and not due yet."""
        last = self.queue[-1] if self.queue else None
        if (
            last is None
            or len(last.entries) + len(parcel.entries) > _SMALL_PARCEL
            or last.label.generation != parcel.label.generation
            or last.label.due_s <= now_s
        ):
            self.put(parcel)
            return
        last.absorb(parcel)
        self.waiting_records += len(parcel.entries)
        self.waiting_bytes += parcel.size_bytes

    def take(self, room_records: int, room_bytes: int, *, must: bool) -> Iterator[Parcel]:
        """Yield what may be sent now; if it *must*, one record is, however large, when none is on the way."""
        while self.queue:
            parcel = self.queue[0]
            count = self._fitting(parcel, room_records, room_bytes)
            if not count and must and not self._flying_records:
                count = 1
            if not count:
                return
            taken = self._cut(parcel, count)
            self._flying_records += count
            self._flying_bytes += taken.size_bytes
            room_records -= count
            room_bytes -= taken.size_bytes
            must = False
            yield taken

    def expired(self, now_s: float) -> list[Parcel]:
        """Return what waits and should have been written by now."""
        if not self.queue or self.queue[0].label.deadline_s > now_s:
            return []
        return [parcel for parcel in self.queue if parcel.label.deadline_s <= now_s]

    def landed(self, parcel: Parcel) -> None:
        """Note that a parcel is no longer on the way."""
        self._flying_records -= len(parcel.entries)
        self._flying_bytes -= parcel.size_bytes

    def clear(self) -> list[Parcel]:
        """Take out everything that waits."""
        parcels = list(self.queue)
        self.queue.clear()
        self.waiting_records = self.waiting_bytes = 0
        return parcels

    def _cut(self, parcel: Parcel, count: int) -> Parcel:
        """Take *count* of the records of the queue's first parcel out of it."""
        self.queue.popleft()
        self.waiting_records -= len(parcel.entries)
        self.waiting_bytes -= parcel.size_bytes
        if count == len(parcel.entries):
            return parcel
        taken, rest = parcel.cut(count)
        self.put(rest, first=True)
        return taken

    def _fitting(self, parcel: Parcel, room_records: int, room_bytes: int) -> int:
        """Return how many of the first records of *parcel* fit into the request and into the shard's window."""
        room_records = min(room_records, self.pace.window_records - self._flying_records)
        room_bytes = min(room_bytes, self.pace.window_bytes - self._flying_bytes)
        if parcel.size_bytes <= room_bytes:
            return max(0, min(room_records, len(parcel.entries)))
        return max(0, min(room_records, bisect_right(list(accumulate(parcel.sizes())), room_bytes)))
