"""The records of a page that is decoded into columns. A `Record` is made only of those that are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, overload

from kinesis_core.model.records import Record

RecordRow = tuple[str, bytes, str | None, float | None, str | None]
"""The fields of a `Record`, in their order."""


class ColumnPage(Protocol):
    """A decoded page, as kinesis-native has it. *start* and *stop* are indexes of its records."""

    def __len__(self) -> int: ...

    def record(self, index: int) -> RecordRow: ...

    def records(self, start: int, stop: int) -> list[RecordRow]: ...

    def data_bytes(self, start: int, stop: int) -> int: ...

    def batch(
        self,
        columns: Sequence[str],
        start: int,
        stop: int,
        *,
        deaggregate: bool,
        skip: int,
        stream_name: str,
        stream: str,
        shard_id: str,
        millis_behind: int,
    ) -> Any: ...


class RecordColumns(Sequence[Record]):
    """A part of a page's records, as a sequence of `Record`. A slice of it copies nothing."""

    __slots__ = ("_page", "_start", "_stop")

    def __init__(self, page: ColumnPage, start: int = 0, stop: int | None = None) -> None:
        self._page = page
        self._start = start
        self._stop = len(page) if stop is None else stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[Record]:
        return (Record(*row) for row in self._page.records(self._start, self._stop))

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        chosen = range(self._start, self._stop)[index]
        if isinstance(chosen, int):
            return Record(*self._page.record(chosen))
        if chosen.step != 1:
            return list(self)[index]
        return RecordColumns(self._page, chosen.start, max(chosen.start, chosen.stop))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # like a list

    def __repr__(self) -> str:
        return f"RecordColumns({list(self)})"

    @property
    def data_bytes(self) -> int:
        """The bytes of all data."""
        return self._page.data_bytes(self._start, self._stop)

    def to_batch(
        self,
        columns: Sequence[str],
        *,
        deaggregate: bool,
        skip: int,
        stream_name: str,
        stream: str,
        shard_id: str,
        millis_behind: int,
    ) -> Any:
        """Return what `pyarrow.record_batch` accepts, or None if the records have to be taken one by one."""
        return self._page.batch(
            columns,
            self._start,
            self._stop,
            deaggregate=deaggregate,
            skip=skip,
            stream_name=stream_name,
            stream=stream,
            shard_id=shard_id,
            millis_behind=millis_behind,
        )


def data_bytes(records: Sequence[Record]) -> int:
    """Return the bytes of the data of *records*: 0 if it was not decoded."""
    if type(records) is RecordColumns:  # `isinstance` with an abstract base is slow
        return records.data_bytes
    return sum(len(record.data) for record in records)
