"""User records that kinesis-native holds as columns. Python lists are made only where Python looks at the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from kinesis_core.model import EntryColumns, NativeEntries
from kinesis_core.native import find_native
from kinesis_core.producing.rows import Rows

Lists = tuple[list[bytes], list[str], list[str | None] | None]
"""Data, partition keys and explicit hash keys."""


class NativeRows(Protocol):
    """Rows, as kinesis-native has them."""

    @property
    def longest_bytes(self) -> int: ...

    @property
    def largest_bytes(self) -> int: ...

    def __len__(self) -> int: ...

    def part(self, start: int, stop: int) -> NativeRows: ...

    def missing_keys(self) -> int: ...

    def with_keys(self, partition_keys: Sequence[str]) -> NativeRows: ...

    def group(self, starts: bytes) -> list[tuple[int, NativeRows]] | None: ...

    def size_bytes(self) -> int: ...

    def entries(self) -> NativeEntries: ...

    def lists(self) -> Lists: ...


class RowColumns(Rows):
    """Rows of kinesis-native. They were checked when they were made."""

    __slots__ = ("_lists", "native")

    native: NativeRows
    _lists: Lists | None

    def __init__(self, native: NativeRows) -> None:
        object.__setattr__(self, "native", native)
        object.__setattr__(self, "_lists", None)

    def _listed(self) -> Lists:
        if self._lists is None:
            object.__setattr__(self, "_lists", self.native.lists())
        assert self._lists is not None  # noqa: S101 - set above
        return self._lists

    @property
    def data(self) -> Sequence[bytes]:
        return self._listed()[0]

    @property
    def keys(self) -> Sequence[str]:
        return self._listed()[1]

    @property
    def hash_keys(self) -> Sequence[str | None] | None:
        return self._listed()[2]

    def __len__(self) -> int:
        return len(self.native)

    def size_bytes(self) -> int:
        return self.native.size_bytes()

    def part(self, start: int, stop: int) -> RowColumns:
        start, stop, _ = slice(start, stop).indices(len(self))
        return RowColumns(self.native.part(start, max(start, stop)))

    def with_keys(self, keys: Iterator[str]) -> Rows:
        if not self.native.missing_keys():
            return self
        return RowColumns(self.native.with_keys([key or next(keys) for key in self.keys]))

    def entries(self) -> EntryColumns:
        """Return a record for each row."""
        return EntryColumns(self.native.entries())


def columns_of(rows: Rows) -> Rows:
    """Return checked *rows* as columns of kinesis-native if this process uses it."""
    native = find_native()
    found = None if native is None else native.PutRows.of_lists(rows.data, rows.keys, rows.hash_keys)
    return rows if found is None else RowColumns(found)


def columns_of_arrays(
    data: Any, partition_keys: Any, explicit_hash_keys: Any, max_record_bytes: int
) -> RowColumns | None:
    """
    Return Arrow arrays as rows. Nothing is copied.

    Returns None if Python has to look at them: kinesis-native is not used, does not know their types, or Kinesis would
    refuse a row.
    """
    native = find_native()
    if native is None:
        return None
    found = native.PutRows.of_arrays(data, partition_keys, explicit_hash_keys)
    return None if found is None or found.largest_bytes > max_record_bytes else RowColumns(found)
