"""The queue of one shard, and the batches in it: what waits for the shard, what is in flight, and how fast it may go."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate

from attrs import define, evolve, field, frozen

from kinesis_core.aggregation import unpack
from kinesis_core.model import PutEntry, entry_sizes, join_entries, pick_entries
from kinesis_core.producing.rows import Rows, keys_of
from kinesis_core.producing.write_window import Patience, WriteWindow
from kinesis_core.throttled import Throttled
from kinesis_credentials import Advice


@frozen
class SendState:
    """When the oldest user record of a batch is due, and the result of earlier attempts to send the batch."""

    due_s: float
    """When the batch is sent even if a request has room for more."""
    generation: int
    """The flush that waits for the batch."""
    reason: str = ""
    """AWS's error code of the last failed attempt."""
    detail: tuple[Advice | str, ...] = ()
    """What the error of the last failed attempt says, and what to do about it."""
    is_unsure: bool = False
    """Whether the last attempt had no response, so that the batch may be in the stream already."""
    may_be_written: bool = False
    """Whether that is so after any of the attempts."""
    attempts: int = 0
    """Number of failed attempts."""

    def after_failure(self, reason: str, detail: tuple[Advice | str, ...], *, is_unsure: bool) -> SendState:
        """Return the state for the next attempt, which is due at once."""
        attempts = self.attempts + 1
        return evolve(
            self,
            due_s=0.0,
            reason=reason,
            detail=detail,
            is_unsure=is_unsure,
            may_be_written=self.may_be_written or is_unsure,
            attempts=attempts,
        )


REQUEST_BYTES = 2 * 1024 * 1024
"""
A request of this size is sent, though 10 MiB are allowed: each connection needs memory for its request, and larger
requests are hardly faster. One record may be larger. It is then the only record of its shard in the request.
"""
_SMALL_BATCH = 250
"""Records. Larger batches are not merged: a request takes them as they are, which costs nothing."""


@define(eq=False)
class ShardBatch:
    """Records of one shard that are sent, and sent again, together. An aggregate is a separate batch."""

    queue: ShardQueue
    """The queue that the batch waits or waited in. A queue that is gone takes no batch back."""
    entries: Sequence[PutEntry]
    size_bytes: int
    """Bytes of data and partition keys, which Kinesis' limits count."""
    user_records: int
    state: SendState
    is_aggregate: bool = False

    @property
    def shard_id(self) -> str:
        return self.queue.shard_id

    def rows(self) -> Rows:
        """Return the user records."""
        if not self.is_aggregate:
            hash_keys = [entry.explicit_hash_key for entry in self.entries]
            return Rows(
                [entry.data for entry in self.entries],
                [entry.partition_key for entry in self.entries],
                hash_keys if any(key is not None for key in hash_keys) else None,
            )
        found = unpack(self.entries[0].data)
        if found is None:
            raise AssertionError("an aggregate of this producer does not unpack")
        keys = keys_of(found.partition_keys, len(found.data))
        return Rows(found.data, keys, found.explicit_hash_keys)

    def sizes(self) -> list[int]:
        """Return the bytes of each record."""
        return entry_sizes(self.entries)

    def split(self, count: int) -> tuple[ShardBatch, ShardBatch]:
        """Return the first *count* records and the others. An aggregate has one record only."""
        first = self.pick(range(count), self.state)
        rest_bytes = self.size_bytes - first.size_bytes
        return first, self._with(self.entries[count:], rest_bytes, self.state)

    def pick(self, indexes: Sequence[int], state: SendState) -> ShardBatch:
        """Return a batch of the records at *indexes*, with another send *state*."""
        entries = pick_entries(self.entries, indexes)
        return self._with(entries, sum(entry_sizes(entries)), state)

    def _with(self, entries: Sequence[PutEntry], size_bytes: int, state: SendState) -> ShardBatch:
        user_records = self.user_records if self.is_aggregate else len(entries)
        return ShardBatch(self.queue, entries, size_bytes, user_records, state, self.is_aggregate)

    def merge(self, other: ShardBatch) -> None:
        """Add the records of *other*. Neither is an aggregate."""
        self.entries = join_entries((self.entries, other.entries))
        self.user_records += other.user_records
        self.size_bytes += other.size_bytes


@define(eq=False)
class ShardQueue:
    """The batches of one shard. A throttled shard fills its own queue and delays no other shard."""

    shard_id: str
    window: WriteWindow
    patience: Patience
    throttled: Throttled
    batches: deque[ShardBatch] = field(factory=deque, init=False)
    is_gone: bool = field(default=False, init=False)
    """Whether the rows must be rerouted: the shard is no longer open, or rows are now routed in another way."""
    waiting_records: int = field(default=0, init=False)
    waiting_bytes: int = field(default=0, init=False)
    _in_flight_records: int = field(default=0, init=False)
    _in_flight_bytes: int = field(default=0, init=False)

    @property
    def is_full(self) -> bool:
        """Whether waiting and in-flight records fill the window of the shard."""
        records = self.waiting_records + self._in_flight_records
        size_bytes = self.waiting_bytes + self._in_flight_bytes
        return records >= self.window.window_records or size_bytes >= self.window.window_bytes

    @property
    def is_sendable(self) -> bool:
        """Whether at least one waiting record may be sent beside those in flight."""
        return bool(self.batches) and (
            not self._in_flight_records or self._fitting(self.batches[0], 1, REQUEST_BYTES) > 0
        )

    def next_s(self, *, is_urgent: bool) -> float:
        """Return when the queue, which is sendable, is due next. An urgent one does not wait until its batch is due."""
        return max(self.window.rests_until_s, 0.0 if is_urgent else self.batches[0].state.due_s)

    def put(self, batch: ShardBatch, *, first: bool = False) -> None:
        self.waiting_records += len(batch.entries)
        self.waiting_bytes += batch.size_bytes
        if first:
            self.batches.appendleft(batch)
        else:
            self.batches.append(batch)

    def put_or_merge(self, batch: ShardBatch, now_s: float) -> None:
        """Merge *batch* into the last one if both are small, belong to one flush, and the last one is not due yet."""
        last = self.batches[-1] if self.batches else None
        if (
            last is None
            or len(last.entries) + len(batch.entries) > _SMALL_BATCH
            or last.state.generation != batch.state.generation
            or last.state.due_s <= now_s
        ):
            self.put(batch)
            return
        last.merge(batch)
        self.waiting_records += len(batch.entries)
        self.waiting_bytes += batch.size_bytes

    def take(self, room_records: int, room_bytes: int, *, at_least_one: bool) -> Iterator[ShardBatch]:
        """
        Take out and yield the batches that may be sent now. The last one may be split.

        With *at_least_one*, one record is yielded even if it is larger than the room, unless others are in flight.
        """
        while self.batches:
            batch = self.batches[0]
            count = self._fitting(batch, room_records, room_bytes)
            if not (count or self._in_flight_records) and (at_least_one or batch.sizes()[0] <= room_bytes):
                count = 1  # also if it is larger than the window
            if not count:
                return
            taken = self._take_first(batch, count)
            self._in_flight_records += count
            self._in_flight_bytes += taken.size_bytes
            room_records -= count
            room_bytes -= taken.size_bytes
            at_least_one = False
            yield taken

    def complete(self, batch: ShardBatch) -> None:
        """Count *batch* as no longer in flight."""
        self._in_flight_records -= len(batch.entries)
        self._in_flight_bytes -= batch.size_bytes

    def clear(self) -> list[ShardBatch]:
        """Take out and return all waiting batches."""
        batches = list(self.batches)
        self.batches.clear()
        self.waiting_records = self.waiting_bytes = 0
        return batches

    def _take_first(self, batch: ShardBatch, count: int) -> ShardBatch:
        """Take the first *count* records out of *batch*, the first of the queue."""
        self.batches.popleft()
        self.waiting_records -= len(batch.entries)
        self.waiting_bytes -= batch.size_bytes
        if count == len(batch.entries):
            return batch
        taken, rest = batch.split(count)
        self.put(rest, first=True)
        return taken

    def _fitting(self, batch: ShardBatch, room_records: int, room_bytes: int) -> int:
        """Return how many of the first records of *batch* fit into the request and into the window of the shard."""
        room_records = min(room_records, self.window.request_records - self._in_flight_records)
        room_bytes = min(room_bytes, self.window.request_bytes - self._in_flight_bytes)
        if batch.size_bytes <= room_bytes:
            return max(0, min(room_records, len(batch.entries)))
        return max(0, min(room_records, bisect_right(list(accumulate(batch.sizes())), room_bytes)))
