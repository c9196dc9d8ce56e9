"""Batches: exact parts of a stream, as records, Arrow or pandas."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import evolve, frozen

from kinesis_core.errors import OptionError
from kinesis_core.model import SHARD_RATE_BYTES, Listing, Page, RangeGroup, ShardRange, show_time
from kinesis_core.reading import (
    DEFAULT_COLUMNS,
    PAGES_HELD,
    RangeSource,
    UserRecord,
    merge_by_arrival,
    ranges_after,
    user_records,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from kinesis_core.reading.arrow import BatchBuilder

_COLUMN_NAMES = tuple(column.name for column in DEFAULT_COLUMNS)
Pages = Iterator[tuple[ShardRange, Page]]
ReadGroups = Callable[[Sequence[RangeGroup], bool, float], Pages]
"""Reads groups: with the records' data or without, and with about so many bytes a page."""

MERGED_RANGES = 128
"""The most shards of a batch that are merged by arrival time: each of them has a thread and a few pages in memory."""
MERGED_BYTES = 128 * 1024 * 1024
"""About how much data those pages have together."""
_LEAST_PAGE_BYTES = SHARD_RATE_BYTES // 4
"""Kinesis allows 5 calls a second. With smaller pages a shard could not be read at its rate."""


@frozen
class BatchPart:
    """A page of a batch, and where its records are from."""

    page: Page
    name: str
    """The stream's name."""
    stream: str
    """What the user calls the stream."""
    shard_id: str
    skip: int
    """How many user records of its first record are left out."""


class ArrowForms(ABC):
    """What a batch is in the forms of Arrow and pandas: of a stream, or of a consumer group."""

    __slots__ = ()
    _ARROW: ClassVar[str] = "'kinesis-core[arrow]'"
    """What installs pyarrow."""

    @abstractmethod
    def _parts(self, needs_data: bool) -> Generator[BatchPart, None, None]:
        """Yield the pages of the batch: with the records' data or without."""

    def record_batches(
        self, columns: Sequence[str] = _COLUMN_NAMES, *, deaggregate: bool = True
    ) -> Iterator[pyarrow.RecordBatch]:
        """
        Yield an Arrow record batch per page with records (at most 10 MiB of data), in the order of `records`.

        *columns* are names of the columns that the Spark source has, in any order.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            OptionError: A column is unknown or repeated, or *columns* is empty.
            DataLossError, ServiceError: As in `records`.
        """
        return self._build(self._builder(columns, deaggregate))

    def to_reader(
        self, columns: Sequence[str] = _COLUMN_NAMES, *, deaggregate: bool = True
    ) -> pyarrow.RecordBatchReader:
        """
        Return a reader of the record batches: for engines that read Arrow, with a choice of columns.

        It reads nothing until the engine asks for a record batch. A reader that is closed or dropped stops reading.

        The arguments are those of `record_batches`, and so are the errors. Errors of reading are raised by the engine, in its own class
        of errors: their text has the class of our error and its message.
        """
        builder = self._builder(columns, deaggregate)
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(builder.schema, self._build(builder))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """
        Return the record batches as a stream of Arrow's PyCapsule interface, which DuckDB, Polars, DataFusion and pyarrow call.

        It has the default columns: `to_reader` has others. A *requested_schema* must have the same columns in the same order. Their
        values are cast to its types, one record batch at a time.

        Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
        """
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self, columns: Sequence[str] = _COLUMN_NAMES, *, deaggregate: bool = True) -> pyarrow.Table:
        """
        Read the batch into one Arrow table. An empty batch is a table without rows.

        The arguments are those of `record_batches`, and so are the errors.
        """
        builder = self._builder(columns, deaggregate)
        import pyarrow as pa

        return pa.Table.from_batches(list(self._build(builder)), builder.schema)

    def to_pandas(
        self, columns: Sequence[str] = _COLUMN_NAMES, *, deaggregate: bool = True
    ) -> pandas.DataFrame:
        """
        Read the batch into one DataFrame of pandas. An empty batch is a DataFrame without rows.

        The arguments are those of `record_batches`, and so are the errors. It needs pyarrow and pandas.
        """
        _check_installed("pandas", "pandas")
        return self.to_arrow(columns, deaggregate=deaggregate).to_pandas()

    def _builder(self, columns: Sequence[str], deaggregate: bool) -> BatchBuilder:
        _check_installed("pyarrow", self._ARROW)
        from kinesis_core.reading.arrow import BatchBuilder

        return BatchBuilder(columns, deaggregate)

    def _build(self, builder: BatchBuilder) -> Iterator[pyarrow.RecordBatch]:
        with closing(self._parts(builder.needs_data)) as parts:
            for part in parts:
                yield builder.build(part.page, part.name, part.shard_id, part.stream, part.skip)


@frozen
class Batch(ArrowForms):
    """
    A part of a stream: what `Stream.read` returns and `Stream.follow` yields. You do not create it. `kinesis_consumer.Batch` is
    another class.

    Its start and end are fixed before any record is read. So a second call of `records` yields the same records. Each call reads
    them from Kinesis, page by page.

    A batch pickles, and another process can read it: see `split`.

    Attributes:
        offset: The end of the batch, as a dict for `json.dumps`. Save it after you have processed the batch, and pass it to
            `Stream.read` or `Stream.follow` as *start* to continue there.
    """

    offset: dict[str, Any]
    _name: str
    _groups: Sequence[RangeGroup]
    _read: ReadGroups
    _list: Callable[[], Listing]
    _ends_ms: int | None = None
    """The latest time among the ends of the shards; None when no time is known."""

    def __repr__(self) -> str:
        count = sum(map(len, self._groups))
        shards = f"{count} shard{'s' * (count != 1)}" if count else "no records"
        ends = f", ends {show_time(self._ends_ms)}" if self._ends_ms else ""
        return f"<Batch of {self._name}: {shards}{ends}>"

    @property
    def is_merged(self) -> bool:
        """Whether `by_arrival` merges the shards of the batch. True for at most 128 shards."""
        return sum(map(len, self._groups)) <= MERGED_RANGES

    @property
    def shard_ids(self) -> tuple[str, ...]:
        """The ids of the shards that have records in the batch: a parent before its children."""
        return tuple(part.shard_id for group in self._groups for part in group)

    def of_shards(self, shard_ids: Collection[str]) -> Batch:
        """Return a batch with only the records of these shards. Its offset is the offset of the whole batch."""
        chosen = (tuple(part for part in group if part.shard_id in shard_ids) for group in self._groups)
        return evolve(self, groups=[group for group in chosen if group])

    def split(self, parts: int) -> list[Batch]:
        """
        Return the batch in parts, for engines that read in several processes: at most *parts*, and none for a batch without records.

        Each part is a batch `of_shards`. Each shard of the batch is in exactly one part. Related shards are in the same part, so that a
        parent is read before its children. The parts have about as many shards each.

        A part pickles. It is read by the process that unpickles it, with the credentials that this process finds: see `Stream`.
        Save the offset once all parts are processed: each has the offset of the whole batch.

        Raises:
            OptionError: *parts* is less than 1.
        """
        if parts < 1:
            raise OptionError(f"parts is {parts}. Use 1 or more.")
        count = min(parts, len(self._groups))
        # Neighbouring shards have similar loads, so that taking them in turn balances the parts.
        return [evolve(self, groups=self._groups[first::count]) for first in range(count)]

    def records(self, *, deaggregate: bool = True, by_arrival: bool = False) -> Iterator[UserRecord]:
        """
        Yield the records of the batch. The records of a shard come in order. The records of a parent come before the records of
        its children.

        KPL aggregates are unpacked into their user records. With `deaggregate=False` an aggregate is one record.

        With *by_arrival*, the shards are merged by the arrival times of their records, if the batch has at most 128
        shards. Arrival times are not exact, so this order is not exact either. The order within a shard remains.

        Raises:
            DataLossError: Records of the batch expired before they were read (unless `fail_on_data_loss` of `ReadSettings` is off).
            OptionError: The batch begins inside an aggregate, and `deaggregate` is False.
            ServiceError: A call to Kinesis failed after its retries.
        """
        for records in self.record_lists(deaggregate=deaggregate, by_arrival=by_arrival):
            yield from records

    def record_lists(
        self, *, deaggregate: bool = True, by_arrival: bool = False
    ) -> Iterator[list[UserRecord]]:
        """
        Yield the same records as `records`, in lists: one list for each page that Kinesis returned. No list waits for a later one.

        The arguments and errors are the same as for `records`.
        """
        ranges = [part for group in self._groups for part in group]
        if by_arrival and len(ranges) > 1 and self.is_merged:
            yield from self._merged(ranges, deaggregate)
        else:
            yield from self._lists(self._groups, deaggregate)

    def _merged(self, ranges: Sequence[ShardRange], deaggregate: bool) -> Iterator[list[UserRecord]]:
        after = [frozenset[int]()] * len(ranges)
        if len(self._groups) < len(ranges):  # there are related shards
            after = ranges_after(ranges, self._list())
        page_bytes = max(_LEAST_PAGE_BYTES, MERGED_BYTES / (len(ranges) * PAGES_HELD))
        sources = [
            RangeSource(partial(self._lists, [(part,)], deaggregate, page_bytes), first)
            for part, first in zip(ranges, after, strict=True)
        ]
        with closing(merge_by_arrival(sources)) as merged:
            yield from merged

    def _lists(
        self, groups: Sequence[RangeGroup], deaggregate: bool, max_page_bytes: float = math.inf
    ) -> Generator[list[UserRecord], None, None]:
        for shard_range, page in self._read(groups, True, max_page_bytes):
            skip = shard_range.skip(page)
            yield user_records(page, shard_range.stream, shard_range.shard_id, deaggregate, skip)

    def _parts(self, needs_data: bool) -> Generator[BatchPart, None, None]:
        for shard_range, page in self._read(self._groups, needs_data, math.inf):
            yield BatchPart(
                page, self._name, shard_range.stream, shard_range.shard_id, shard_range.skip(page)
            )


def _check_installed(package: str, requirement: str) -> None:
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"This method needs {package}: pip install {requirement}", name=package)
