"""An aggregate of one shard that is not full yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import define, field

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.model import EntryColumns, NativeEntries, PutEntry
from kinesis_core.producing.row_columns import NativeRows, RowColumns
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.send_state import SendState
from kinesis_core.producing.shard_map import hash_of

AGGREGATE_KEY = "a"
"""The partition key of every aggregate, as in the KPL. An explicit hash key routes the aggregate."""


class OpenAggregate(Protocol):
    """User records of one shard that are buffered to share an aggregate."""

    state: SendState

    @property
    def count(self) -> int:
        """The number of user records."""

    @property
    def size_bytes(self) -> int:
        """The size of the aggregate if it were closed now."""

    def extend(self, rows: Rows, start: int) -> int:
        """
        Add rows from index *start* on until one does not fit. Returns the index of that one, or the number of rows.

        Rows of another kind do not fit: those of kinesis-native and those of Python do not share an aggregate.
        """

    def entries(self) -> Sequence[PutEntry]:
        """Return the record that holds all user records, or the user record itself if there is only one."""


def held_bytes(aggregate: OpenAggregate | None) -> int:
    """Return the bytes that *aggregate* holds."""
    return aggregate.size_bytes if aggregate is not None and aggregate.count else 0


@define(eq=False)
class RowAggregate:
    """An open aggregate that Python builds."""

    builder: AggregateBuilder
    state: SendState
    first: Rows = field(default=Rows((), ()), init=False)
    """The first user record."""

    @property
    def count(self) -> int:
        return self.builder.count

    @property
    def size_bytes(self) -> int:
        return self.builder.size_bytes

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


class NativeBuilder(Protocol):
    """An `AggregateBuilder` of kinesis-native, which knows the first user record."""

    @property
    def count(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def extend(self, rows: NativeRows, start: int) -> int: ...

    def close(self) -> NativeEntries: ...


@define(eq=False)
class ColumnAggregate:
    """An open aggregate that kinesis-native builds: the same bytes."""

    builder: NativeBuilder
    state: SendState

    @property
    def count(self) -> int:
        return self.builder.count

    @property
    def size_bytes(self) -> int:
        return self.builder.size_bytes

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
