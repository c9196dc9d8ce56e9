"""Records on their way to one shard: gathered in a box, sent as a parcel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from kinesis_core.aggregation import AggregateBuilder, unpack
from kinesis_core.model import PutEntry
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_map import hash_of

if TYPE_CHECKING:
    from kinesis_core.producing.shard_queue import ShardQueue

AGGREGATE_KEY = "a"
"""The partition key of every aggregate, as the KPL has it; its explicit hash key routes it."""


@frozen
class SendState:
    """What is written on a parcel: what the oldest of its user records demands, and what happened to it."""

    due_s: float
    """When they are sent even if there is room for more."""
    deadline_s: float
    """When they must be written."""
    generation: int
    """Which flush waits for them."""
    reason: str = ""
    """Why they are not written yet: AWS's error code."""
    detail: str = ""
    is_unsure: bool = False
    """Whether they were sent and nobody knows what became of them."""
    attempts: int = 0
    """How often they were sent in vain."""

    def again(self, reason: str, detail: str, *, is_unsure: bool) -> SendState:
        """Return the label for sending it once more, as soon as its shard may be asked again."""
        attempts = self.attempts + 1
        return evolve(self, due_s=0.0, reason=reason, detail=detail, is_unsure=is_unsure, attempts=attempts)


@define(eq=False)
class ShardBatch:
    """Records for one shard that are sent, and sent again, together. An aggregate is a parcel of its own."""

    queue: ShardQueue
    """Where it waits or waited; a lane that is gone takes none back."""
    entries: list[PutEntry]
    size_bytes: int
    """Data and partition keys, what Kinesis' limits count."""
    user_records: int
    state: SendState
    is_aggregate: bool = False

    @property
    def shard_id(self) -> str:
        return self.queue.shard_id

    def rows(self) -> Rows:
        """Return its user records."""
        if self.is_aggregate:
            found = unpack(self.entries[0].data)
            if found is None:
                raise AssertionError("an aggregate of ours does not unpack")
            return Rows(found.data, found.partition_keys, found.explicit_hash_keys)
        return plain_rows(self.entries)

    def sizes(self) -> list[int]:
        """Return the bytes of each record."""
        return _sizes(self.entries)

    def cut(self, count: int) -> tuple[ShardBatch, ShardBatch]:
        """Return its first *count* records, and the others; an aggregate has but one."""
        first = self.pick(range(count), self.state)
        rest_bytes = self.size_bytes - first.size_bytes
        return first, self._with(self.entries[count:], rest_bytes, self.state)

    def pick(self, places: Sequence[int], state: SendState) -> ShardBatch:
        """Return a parcel with the records in *places*, under another *label*."""
        entries = [self.entries[place] for place in places]
        return self._with(entries, sum(_sizes(entries)), state)

    def _with(self, entries: list[PutEntry], size_bytes: int, state: SendState) -> ShardBatch:
        user_records = self.user_records if self.is_aggregate else len(entries)
        return ShardBatch(self.queue, entries, size_bytes, user_records, state, self.is_aggregate)

    def absorb(self, other: ShardBatch) -> None:
        """Take in the records of another parcel of plain records."""
        self.entries += other.entries
        self.user_records += other.user_records
        self.size_bytes += other.size_bytes


def _sizes(entries: Sequence[PutEntry]) -> list[int]:
    return [len(entry.data) + len(entry.partition_key.encode()) for entry in entries]


def plain_rows(entries: list[PutEntry]) -> Rows:
    hash_keys = [entry.explicit_hash_key for entry in entries]
    return Rows(
        [entry.data for entry in entries],
        [entry.partition_key for entry in entries],
        hash_keys if any(key is not None for key in hash_keys) else None,
    )


def plain_batch(queue: ShardQueue, rows: Rows, state: SendState) -> ShardBatch:
    """Return *rows* as a record each."""
    if rows.hash_keys is None:
        entries = list(map(PutEntry, rows.data, rows.keys))
    else:
        entries = list(map(PutEntry, rows.data, rows.keys, rows.hash_keys))
    return ShardBatch(queue, entries, rows.size_bytes(), len(entries), state)


@define(eq=False)
class OpenAggregate:
    """User records of one shard that wait for others to share an aggregate with."""

    builder: AggregateBuilder
    state: SendState
    _first: Rows = field(default=Rows((), ()), init=False)

    @property
    def held_bytes(self) -> int:
        return self.builder.size_bytes if self.builder.count else 0

    def extend(self, rows: Rows, start: int) -> int:
        """Add rows from place *start* on until one does not fit; return that one's place."""
        if not self.builder.count:
            self._first = rows.part(start, start + 1)
        if rows.hash_keys is None:
            return self.builder.extend(rows.data, rows.keys, start)
        while start < len(rows) and self.builder.add(
            rows.data[start], rows.keys[start], rows.hash_keys[start]
        ):
            start += 1
        return start

    def close(self, queue: ShardQueue) -> ShardBatch:
        """Return what is in it: an aggregate, or a lone user record as it is."""
        if self.builder.count == 1:
            return plain_batch(queue, self._first, self.state)
        # The hash key of a user record lies in the shard, and will lie in the child that owns that user record.
        hash_key = hash_of(self._first.keys[0], self._first.hash_key(0))
        entry = PutEntry(self.builder.build(), AGGREGATE_KEY, str(hash_key))
        size_bytes = self.builder.size_bytes + len(AGGREGATE_KEY)
        return ShardBatch(queue, [entry], size_bytes, self.builder.count, self.state, is_aggregate=True)
