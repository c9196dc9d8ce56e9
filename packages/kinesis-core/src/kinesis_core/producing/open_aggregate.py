"""An aggregate of one shard that is not full yet."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.model import PutEntry
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.send_state import SendState
from kinesis_core.producing.shard_map import hash_of

AGGREGATE_KEY = "a"
"""The partition key of every aggregate, as in the KPL. An explicit hash key routes the aggregate."""


@define(eq=False)
class OpenAggregate:
    """User records of one shard that are buffered to share an aggregate."""

    builder: AggregateBuilder
    state: SendState
    first: Rows = field(default=Rows((), ()), init=False)
    """The first user record."""

    @property
    def held_bytes(self) -> int:
        return self.builder.size_bytes if self.builder.count else 0

    def extend(self, rows: Rows, start: int) -> int:
        """Add rows from index *start* on until one does not fit. Returns the index of that one, or the number of rows."""
        if not self.builder.count:
            self.first = rows.part(start, start + 1)
        if rows.hash_keys is None:
            return self.builder.extend(rows.data, rows.keys, start)
        while start < len(rows) and self.builder.add(
            rows.data[start], rows.keys[start], rows.hash_keys[start]
        ):
            start += 1
        return start

    def entry(self) -> PutEntry:
        """
        Return the record that holds all user records.

        It has the hash key of the first user record: the shard owns that hash key. After a split, the child that owns
        it owns the first user record too.
        """
        hash_key = hash_of(self.first.keys[0], self.first.hash_key(0))
        return PutEntry(self.builder.build(), AGGREGATE_KEY, str(hash_key))
