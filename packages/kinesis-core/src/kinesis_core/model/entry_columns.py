"""The records of a request that kinesis-native holds. A `PutEntry` is made only of those that are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, overload

from kinesis_core.model.put_records import PutEntry

Fields = tuple[bytes, str, str | None]
"""The fields of a `PutEntry`, in their order."""


class NativeEntries(Protocol):
    """The records, as kinesis-native has them. *start* and *stop* are indexes of them."""

    @staticmethod
    def joined(all: Sequence[Any]) -> NativeEntries: ...

    def __len__(self) -> int: ...

    def entries(self, start: int, stop: int) -> list[Fields]: ...

    def slice(self, start: int, stop: int) -> NativeEntries: ...

    def pick(self, indexes: Sequence[int]) -> NativeEntries: ...

    def sizes(self) -> list[int]: ...

    def encode_json(self, name: str, arn: str | None) -> bytes | None: ...

    def encode_cbor(self, name: str, arn: str | None) -> bytes | None: ...


class EntryColumns(Sequence[PutEntry]):
    """Records as a sequence of `PutEntry`. A slice of it copies nothing."""

    __slots__ = ("native",)

    def __init__(self, native: NativeEntries) -> None:
        self.native = native

    def __len__(self) -> int:
        return len(self.native)

    def __iter__(self) -> Iterator[PutEntry]:
        return (PutEntry(*fields) for fields in self.native.entries(0, len(self)))

    @overload
    def __getitem__(self, index: int) -> PutEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PutEntry]: ...
    def __getitem__(self, index: int | slice) -> PutEntry | Sequence[PutEntry]:
        chosen = range(len(self))[index]
        if isinstance(chosen, int):
            return PutEntry(*self.native.entries(chosen, chosen + 1)[0])
        if chosen.step != 1:
            return list(self)[index]
        return EntryColumns(self.native.slice(chosen.start, max(chosen.start, chosen.stop)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # like a list

    def __repr__(self) -> str:
        return f"EntryColumns({list(self)})"


def entry_sizes(entries: Sequence[PutEntry]) -> list[int]:
    """Return the bytes of each record: its data and partition key, which Kinesis' limits count."""
    if isinstance(entries, EntryColumns):
        return entries.native.sizes()
    return [len(entry.data) + len(entry.partition_key.encode()) for entry in entries]


def pick_entries(entries: Sequence[PutEntry], indexes: Sequence[int]) -> Sequence[PutEntry]:
    """Return the records at *indexes*. A range of them shares memory with *entries*."""
    if isinstance(indexes, range) and indexes.step == 1:
        return entries[indexes.start : indexes.stop]
    if isinstance(entries, EntryColumns):
        return EntryColumns(entries.native.pick(indexes))
    return [entries[index] for index in indexes]


def join_entries(parts: Sequence[Sequence[PutEntry]]) -> Sequence[PutEntry]:
    """Return the records of all *parts*, in their order."""
    columns = [part.native for part in parts if isinstance(part, EntryColumns)]
    if columns and len(columns) == len(parts):
        return EntryColumns(columns[0].joined(columns))
    return [entry for part in parts for entry in part]
